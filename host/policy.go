package host

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/holder/process"
	"coleo.dev/host/judge"
	"coleo.dev/policy"
	"coleo.dev/policy/files"
)

// PolicyFiles says where the rules of arms' policies are.
type PolicyFiles = files.Paths

// policyAnswer is how long a policy can take to answer a dialog. After that time, a person must
// answer the dialog.
const policyAnswer = 30 * time.Second

// considerDialog begins to judge a dialog if the arm has a policy and the change shows a new
// approval dialog. It returns at once.
func (a *arm) considerDialog(ctx context.Context, s coleo.Session, c coleo.Change) {
	d := c.Reading.Dialog
	if d == nil || d.Kind != coleo.DialogPermission || c.Reading.State != coleo.WaitingApproval || !c.Reading.Known {
		return
	}
	a.mu.Lock()
	mode := a.record.Spec.Policy
	known := a.judged == d.Fingerprint
	a.judged = d.Fingerprint
	a.mu.Unlock()
	if known || mode == "" || mode == coleo.PolicyOff {
		return
	}
	a.host.runs.Go(func() { a.judge(ctx, s, *d) })
}

// judge asks the arm's policy about a dialog, and records the decision. In the mode
// PolicyRead it also answers the dialog.
func (a *arm) judge(ctx context.Context, s coleo.Session, d coleo.Dialog) {
	a.mu.Lock()
	of := judge.Arm{ID: a.record.ID, Start: a.record.Generation, Config: a.record.Spec}
	a.mu.Unlock()
	of.Thread = s.Handle().Conversation
	of.Environ = func() ([]string, error) { return process.Environ(s.Handle().Process) }
	p, err := judge.Decide(ctx, a.host.Policy, of, s, d)
	if err != nil {
		return // somebody has answered the dialog
	}
	if a.host.Judged != nil {
		a.host.Judged(p)
	}
	if of.Config.Policy == coleo.PolicyRead && p.Decision != string(policy.Ask) {
		if err := a.answerBy(ctx, p); err != nil {
			p.Problem = err.Error()
		} else {
			p.Applied = true
		}
	}
	err = a.host.append(context.WithoutCancel(ctx), runEvent(a.record.ID, a.openRun(), coleo.EventPolicy, p))
	if err != nil {
		a.host.Log.Error("record the decision of a policy", "arm", a.name(), "error", err)
	}
}

// answerBy answers a dialog with the decision of a policy. It answers in the same way as a person
// does. If the arm already shows another dialog, answerBy types nothing.
func (a *arm) answerBy(ctx context.Context, p coleo.PolicyDecision) error {
	ctx, cancel := context.WithTimeout(ctx, policyAnswer)
	defer cancel()
	decision := coleo.Decision{Choice: coleo.Approve}
	if p.Decision == string(policy.Deny) {
		decision = coleo.Decision{Choice: coleo.Deny, Words: "The policy of this arm denies it, by the rule " + p.Rule + "."}
	}
	a.typing.RLock()
	defer a.typing.RUnlock()
	return a.respondBy(ctx, bus.RespondOrder{Arm: a.record.ID, Dialog: p.Dialog, Decision: decision}, p.Rule)
}
