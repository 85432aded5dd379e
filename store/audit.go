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

// BeginAudit records a command before the command is carried out, and returns the id of the record.
// The record survives a power failure.
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

// Audits returns the records of the commands that match a filter, newest first. It returns at most
// f.Limit records, or 1000 if f.Limit is 0.
func (s *ServeDB) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	var shape coleo.Audit
	rows, err := s.db.reader.QueryContext(ctx, "SELECT id, "+columns(auditFields(&shape))+` FROM audit
		WHERE (?1 = '' OR arm = ?1) AND (?2 = 0 OR id < ?2) ORDER BY id DESC LIMIT ?3`, f.Arm, f.Before,
		rowLimit(f.Limit))
	list, err := collect(rows, err, func(a *coleo.Audit) []any {
		return append([]any{&a.ID}, cells(auditFields(a))...)
	})
	if err != nil {
		return nil, fmt.Errorf("read the commands: %w", err)
	}
	return list, nil
}

// tokenBounds contains the limits of an operator token, in the form in which they are stored as JSON.
type tokenBounds struct {
	Scopes []coleo.TokenScope `json:"scopes"`
	Arms   map[string]string  `json:"arms,omitempty"`

	Labels coleo.Labels `json:"labels,omitempty"`

	RunsIn   string   `json:"runsIn,omitempty"`
	Prompted []string `json:"prompted,omitempty"`
}

func boundsOf(t coleo.OperatorToken) tokenBounds {
	return tokenBounds{t.Scopes, t.Arms, t.Labels, t.RunsIn, t.Prompted}
}

// tokenRow is the row of an operator token. The column `bounds` contains the token's limits as JSON.
type tokenRow struct {
	coleo.OperatorToken
	bounds tokenBounds
}

func (r *tokenRow) fields() []field {
	return []field{
		{"name", textOf(&r.Name)},
		{"hash", textOf(&r.Hash)},
		{"bounds", documentOf(&r.bounds)},
		{"created_at", moment{&r.Created}},
		{"expires_at", moment{&r.Expires}},
		{"used_at", moment{&r.Used}},
	}
}

// AddToken stores a new operator token. It returns EConflict if another token has this name. The
// write survives a power failure.
func (s *ServeDB) AddToken(ctx context.Context, t coleo.OperatorToken) error {
	r := tokenRow{t, boundsOf(t)}
	added, err := s.changeTokens(ctx, insertion("operator_tokens", r.fields())+" ON CONFLICT (name) DO NOTHING",
		cells(r.fields())...)
	switch {
	case err != nil:
		return fmt.Errorf("store the token %s: %w", t.Name, err)
	case !added:
		return coleo.Errorf(coleo.EConflict, "there is a token %q already: revoke it, or choose another name", t.Name)
	}
	return nil
}

// NoteTokenUse stores the time of the last use of an operator token. If the token was removed,
// NoteTokenUse does nothing.
func (s *ServeDB) NoteTokenUse(ctx context.Context, t coleo.OperatorToken) error {
	_, err := s.changeTokens(ctx, "UPDATE operator_tokens SET used_at = ? WHERE hash = ?", moment{&t.Used}, t.Hash)
	if err != nil {
		return fmt.Errorf("store the use of the token %s: %w", t.Name, err)
	}
	return nil
}

// NotePrompted stores which arms an operator token has prompted. It returns ENotFound if the
// token was removed. The write survives a power failure.
func (s *ServeDB) NotePrompted(ctx context.Context, t coleo.OperatorToken) error {
	bounds := boundsOf(t)
	noted, err := s.changeTokens(ctx, "UPDATE operator_tokens SET bounds = ? WHERE hash = ?", documentOf(&bounds), t.Hash)
	switch {
	case err != nil:
		return fmt.Errorf("store which arms the token %s has prompted: %w", t.Name, err)
	case !noted:
		return coleo.Errorf(coleo.ENotFound, "there is no token %q", t.Name)
	}
	return nil
}

// RemoveToken removes an operator token. It returns ENotFound if there is no such token.
// The write survives a power failure.
func (s *ServeDB) RemoveToken(ctx context.Context, name string) error {
	removed, err := s.changeTokens(ctx, "DELETE FROM operator_tokens WHERE name = ?", name)
	switch {
	case err != nil:
		return fmt.Errorf("remove the token %s: %w", name, err)
	case !removed:
		return coleo.Errorf(coleo.ENotFound, "there is no token %q", name)
	}
	return nil
}

// changeTokens executes a statement on the table of tokens, and reports whether the statement
// changed a row.
func (s *ServeDB) changeTokens(ctx context.Context, statement string, args ...any) (changed bool, err error) {
	err = s.db.write(ctx, intent, func(tx *sql.Tx) error {
		done, err := tx.Exec(statement, args...)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		changed = n > 0
		return err
	})
	return changed, err
}

// Tokens returns all operator tokens, sorted by name.
func (s *ServeDB) Tokens(ctx context.Context) ([]coleo.OperatorToken, error) {
	var shape tokenRow
	rows, err := s.db.reader.QueryContext(ctx, "SELECT "+columns(shape.fields())+" FROM operator_tokens ORDER BY name")
	list, err := collect(rows, err, func(r *tokenRow) []any { return cells(r.fields()) })
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	out := make([]coleo.OperatorToken, len(list))
	for i, r := range list {
		out[i] = r.OperatorToken
		b := r.bounds
		out[i].Scopes, out[i].Arms, out[i].Labels, out[i].RunsIn, out[i].Prompted = b.Scopes, b.Arms, b.Labels, b.RunsIn,
			b.Prompted
	}
	return out, nil
}
