package brain

import (
	"context"

	"coleo.dev"
)

// BeginAudit records a command before the command is carried out. In the record it
// replaces the arm's id with the arm's name. It returns the id of the record.
func (b *Brain) BeginAudit(ctx context.Context, a coleo.Audit) (int64, error) {
	a.Arm = b.nameOf(ctx, a.Arm)
	return b.DB.BeginAudit(ctx, a)
}

// EndAudit records the result of a command. If the command failed, the parameter why is
// the reason.
func (b *Brain) EndAudit(ctx context.Context, id int64, result coleo.AuditResult, why string) error {
	return b.DB.EndAudit(ctx, id, result, why)
}

// nameOf returns the name of the arm whose id or name is word. If there is no such arm,
// it returns word unchanged.
func (b *Brain) nameOf(ctx context.Context, word string) string {
	if arm, err := b.DB.Arm(ctx, word); err == nil {
		return arm.Name
	}
	return word
}

// Audits returns the records of the commands that match f, newest first.
func (b *Brain) Audits(ctx context.Context, f coleo.AuditFilter) ([]coleo.Audit, error) {
	f.Arm = b.nameOf(ctx, f.Arm)
	return b.DB.Audits(ctx, f)
}
