package host

import (
	"context"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
	"coleo.dev/host/choosing"
	"coleo.dev/host/judge"
	"coleo.dev/store"
)

// newArm returns an arm with the given record. Nothing of it runs yet.
func (h *Host) newArm(record store.ArmRecord) *arm {
	a := &arm{host: h, record: record}
	a.meter, a.choices, a.dialogs = h.newMeter(a), h.newChooser(a), h.newDialogs(a)
	return a
}

func (h *Host) newChooser(a *arm) *choosing.Chooser {
	return &choosing.Chooser{Config: choosing.Config{
		Session: a.liveSession, MayType: a.mayType, Interrupt: a.interrupt, Record: a.recordNow,
		Change: a.change, Intend: a.intend, KeepFile: a.fileOrLog,
		Background: func(do func(ctx context.Context)) {
			h.runs.Go(func() {
				a.typing.RLock()
				defer a.typing.RUnlock()
				do(h.ctx)
			})
		},
		Ended: func() <-chan struct{} { return h.ctx.Done() }, Now: h.Now, Log: h.Log}}
}

func (h *Host) newDialogs(a *arm) *judge.Dialogs {
	return &judge.Dialogs{Config: judge.Config{
		Rules: h.Policy, Background: h.runs.Go,
		Judged: func(p coleo.PolicyDecision) {
			if h.Judged != nil {
				h.Judged(p)
			}
		},
		Arm: func(s coleo.Session) judge.Arm {
			r := a.recordNow()
			return judge.Arm{ID: r.ID, Start: r.Generation, Config: r.Spec, Thread: s.Handle().Conversation,
				Environ: func() ([]string, error) { return process.Environ(s.Handle().Process) }}
		},
		Answer: func(ctx context.Context, p coleo.PolicyDecision, d coleo.Decision) error {
			a.typing.RLock()
			defer a.typing.RUnlock()
			return a.respondBy(ctx, bus.RespondOrder{Arm: a.record.ID, Dialog: p.Dialog, Decision: d}, p.Rule)
		},
		Record: func(ctx context.Context, p coleo.PolicyDecision) {
			if err := h.append(ctx, runEvent(a.record.ID, a.openRun(), coleo.EventPolicy, p)); err != nil {
				h.Log.Error("record the decision of a policy", "arm", a.name(), "error", err)
			}
		}}}
}
