package judge

import (
	"context"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/policy"
	"coleo.dev/policy/files"
)

// answerTime is how long the answer of a policy to a dialog can take. After that, a person must
// answer the dialog.
const answerTime = 30 * time.Second

// Config is what Dialogs needs from its arm and from the host agent.
type Config struct {
	Rules files.Paths
	Arm   func(coleo.Session) Arm // returns the arm with its present configuration
	// Answer answers a dialog according to a policy's decision, in the same way as for a person. If
	// the arm already shows another dialog, Answer types nothing.
	Answer func(context.Context, coleo.PolicyDecision, coleo.Decision) error
	// Judged is called after each decision and before the answer.
	Judged     func(coleo.PolicyDecision)
	Record     func(context.Context, coleo.PolicyDecision) // records a decision in the log
	Background func(func())                                // runs the function in the background
}

// Dialogs judges each approval dialog of one arm once. It is safe for concurrent use.
type Dialogs struct {
	Config

	mu   sync.Mutex
	last coleo.Fingerprint // the last dialog that was judged
}

// Consider begins to judge a dialog, if the arm has a policy and the change shows a new approval
// dialog. It returns at once.
func (l *Dialogs) Consider(ctx context.Context, s coleo.Session, c coleo.Change) {
	d := c.Reading.Dialog
	if d == nil || d.Kind != coleo.DialogPermission || c.Reading.State != coleo.WaitingApproval || !c.Reading.Known {
		return
	}
	l.mu.Lock()
	known := l.last == d.Fingerprint
	l.last = d.Fingerprint
	l.mu.Unlock()
	if mode := l.Arm(s).Config.Policy; known || mode == "" || mode == coleo.PolicyOff {
		return
	}
	l.Background(func() { l.judge(ctx, s, *d) })
}

// judge asks the arm's policy about a dialog, and records the decision. In the mode PolicyRead it
// also answers the dialog.
func (l *Dialogs) judge(ctx context.Context, s coleo.Session, d coleo.Dialog) {
	of := l.Arm(s)
	p, err := Decide(ctx, l.Rules, of, s, d)
	if err != nil {
		return // there is nothing to judge, because somebody has answered the dialog
	}
	l.Judged(p)
	if of.Config.Policy == coleo.PolicyRead && p.Decision != string(policy.Ask) {
		if err := l.answer(ctx, p); err != nil {
			p.Problem = err.Error()
		} else {
			p.Applied = true
		}
	}
	l.Record(context.WithoutCancel(ctx), p)
}

// answer answers a dialog according to a policy's decision.
func (l *Dialogs) answer(ctx context.Context, p coleo.PolicyDecision) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	decision := coleo.Decision{Choice: coleo.ChoiceApprove}
	if p.Decision == string(policy.Deny) {
		decision = coleo.Decision{Choice: coleo.ChoiceDeny,
			Words: "The policy of this arm denies it, by the rule " + p.Rule + "."}
	}
	return l.Answer(ctx, p, decision)
}
