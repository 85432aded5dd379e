package brain

import (
	"context"

	"coleo.dev"
)

// BeginAudit writes down a command that is about to be carried out, and returns
// its id.
func (b *Brain) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = b.nameOf(ctx, a.Arm)
	return b.DB.BeginAudit(ctx, a)
}

// EndAudit writes down what came of a command, and why where it failed.
func (b *Brain) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error {
	return b.DB.EndAudit(ctx, id, result, why)
}

// nameOf returns the name of an arm that is named by its id, and any other word
// as it is.
func (b *Brain) nameOf(ctx context.Context, word string) string {
	if arm, err := b.DB.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the commands that a filter picks, the newest first.
func (b *Brain) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = b.nameOf(ctx, f.Arm)
	return b.DB.Audits(ctx, f)
}
