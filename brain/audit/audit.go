// Package audit records the commands of people and programs, each with the caller and the result.
//
// Package audit only writes records: it never refuses a command.
package audit

import (
	"context"

	"coleo.dev"
	"coleo.dev/store"
)

// Trail is the record of all commands. It is safe for concurrent use.
type Trail struct{ db *store.ServeDB }

// New returns a Trail that stores its records in the given database.
func New(db *store.ServeDB) *Trail { return &Trail{db} }

// BeginAudit records a command before the command is carried out, and returns the id of the record.
// In the record, BeginAudit replaces the arm's id with the arm's name.
func (t *Trail) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = t.nameOf(ctx, a.Arm)
	return t.db.BeginAudit(ctx, a)
}

// EndAudit records the result of a command. If the command failed, the caller also passes the
// reason.
func (t *Trail) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, reason string) error {
	return t.db.EndAudit(ctx, id, result, reason)
}

// nameOf returns the name of the arm with the given id or name. If there is no such arm, nameOf
// returns its argument unchanged.
func (t *Trail) nameOf(ctx context.Context, word string) string {
	if arm, err := t.db.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the records of the commands that match f, newest first.
func (t *Trail) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = t.nameOf(ctx, f.Arm)
	return t.db.Audits(ctx, f)
}
