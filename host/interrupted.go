package host

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/store"
)

// interrupting marks the open runs as interrupted. Call interrupting before a key is
// typed, because the turn can end as soon as the key is typed. After the interrupt,
// pass the error of the interrupt to undo. If the error proves that no key was typed,
// undo removes the marks.
func (a *arm) interrupting(ctx context.Context, s coleo.Session) (undo func(error)) {
	now := s.State().State
	a.mu.Lock()
	needless := a.run == nil || a.run.Interrupted || !now.Working() && now != coleo.WaitingApproval
	a.mu.Unlock()
	if needless {
		return func(error) {}
	}
	a.noteInterrupted(ctx, true)
	return func(err error) {
		switch coleo.ErrorCode(err) {
		case "", coleo.ETimeout, coleo.EExited, coleo.EInternal: // a key may have been typed, so the turn may still end
		default:
			a.noteInterrupted(context.WithoutCancel(ctx), false)
		}
	}
}

func (a *arm) noteInterrupted(ctx context.Context, yes bool) {
	err := a.change(ctx, func(r *store.ArmRecord) []coleo.Event {
		r.Earlier = slices.Clone(r.Earlier)
		for i := range r.Earlier {
			r.Earlier[i].Interrupted = yes
		}
		if r.Run != nil && a.run != nil {
			run := *r.Run
			run.Interrupted = yes
			a.run, r.Run = &run, &run
		}
		return nil
	})
	if err != nil {
		a.host.Log.Error("record that a run is interrupted", "arm", a.name(), "error", err)
	}
}
