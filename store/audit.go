package store

import (
	"context"
	"database/sql"
	"fmt"

	"coleo.dev"
)

func auditFields(a *coleo.Audit) []field {
	return []field{
		{"ts", moment{&a.Time}},
		{"caller", documentOf(&a.Caller)},
		{"command", textOf(&a.Command)},
		{"arm", textOf(&a.Arm)},
		{"detail", raw{&a.Detail}},
		{"result", textOf(&a.Result)},
		{"error", textOf(&a.Error)},
	}
}

// BeginAudit records a command before the command is carried out. It returns the id of
// the record. The record survives a power failure.
func (s *ServeDB) BeginAudit(ctx context.Context, a coleo.Audit) (id int64, err error) {
	a.Result, a.Error = coleo.AuditOpen, ""
	err = s.db.write(ctx, intent, func(tx *sql.Tx) error {
		done, err := tx.Exec(insertion("audit", auditFields(&a)), cells(auditFields(&a))...)
		if err != nil {
			return err
		}
		id, err = done.LastInsertId()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("write down who gave the command %s: %w", a.Command, err)
	}
	return id, nil
}

// EndAudit records the result of a command. A power failure can undo this write.
func (s *ServeDB) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error {
	err := s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE audit SET result = ?, error = ? WHERE id = ?", textOf(&result), textOf(&why), id)
		return err
	})
	if err != nil {
		return fmt.Errorf("record the result of command %d: %w", id, err)
	}
	return nil
}

// Audits returns the records of the commands that match f, newest first. It returns at
// most f.Limit records, or 1000 if f.Limit is 0.
func (s *ServeDB) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	var shape coleo.Audit
	rows, err := s.db.reader.QueryContext(ctx, "SELECT id, "+columns(auditFields(&shape))+` FROM audit
		WHERE (?1 = '' OR arm = ?1) AND (?2 = 0 OR id < ?2) ORDER BY id DESC LIMIT ?3`, f.Arm, f.Before, page(f.Limit))
	list, err := collect(rows, err, func(a *coleo.Audit) []any {
		return append([]any{&a.ID}, cells(auditFields(a))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the commands: %w", err)
	}
	return list, nil
}
