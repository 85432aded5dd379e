package brain

import (
	"context"

	"coleo.dev"
)

// BeginAudit records a command that is about to be carried out, and returns the id of the
// record. It stores the arm's name in place of its id.
func (b *Brain) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = b.nameOf(ctx, a.Arm)
	return b.DB.BeginAudit(ctx, a)
}

// EndAudit records the result of a command, and the reason if the command failed.
func (b *Brain) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error {
	return b.DB.EndAudit(ctx, id, result, why)
}

// nameOf returns the name of the arm with the given id. It returns any other word
// unchanged.
func (b *Brain) nameOf(ctx context.Context, word string) string {
	if arm, err := b.DB.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the commands that match a filter, newest first.
func (b *Brain) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = b.nameOf(ctx, f.Arm)
	return b.DB.Audits(ctx, f)
}
