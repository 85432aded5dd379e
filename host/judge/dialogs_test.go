package judge

import (
	"context"
	"testing"

	"coleo.dev"
)

// fakeSession is a session that does not report which tool asks.
type fakeSession struct{ coleo.Session }

// shown returns a change to an approval dialog.
func shown(fingerprint coleo.Fingerprint) coleo.Change {
	return coleo.Change{Reading: coleo.Reading{State: coleo.WaitingApproval, Known: true,
		Dialog: &coleo.Dialog{Kind: coleo.DialogPermission, Fingerprint: fingerprint, Title: "Run it?"}}}
}

func TestEachApprovalDialogIsJudgedOnce(t *testing.T) {
	t.Parallel()
	mode := coleo.PolicyShadow
	var judged, recorded []coleo.Fingerprint
	l := &Dialogs{Config: Config{
		Arm: func(coleo.Session) Arm {
			a := armWith("SHELL=/bin/bash")
			a.Config.Policy, a.Config.Workdir = mode, t.TempDir()
			return a
		},
		Answer: func(context.Context, coleo.PolicyDecision, coleo.Decision) error {
			t.Error("a dialog is answered whose call is not known")
			return nil
		},
		Judged:     func(p coleo.PolicyDecision) { judged = append(judged, p.Dialog) },
		Record:     func(_ context.Context, p coleo.PolicyDecision) { recorded = append(recorded, p.Dialog) },
		Background: func(do func()) { do() },
	}}
	consider := func(c coleo.Change) { l.Consider(t.Context(), fakeSession{}, c) }
	consider(shown("a"))
	consider(shown("a")) // the screen shows the same dialog again
	consider(shown("b"))
	if len(judged) != 2 || len(recorded) != 2 {
		t.Errorf("judged %v, recorded %v; want a and b once each", judged, recorded)
	}
	for what, change := range map[string]func(*coleo.Change){
		"another kind of dialog":         func(c *coleo.Change) { c.Reading.Dialog.Kind = coleo.DialogTrust },
		"a screen that no rule knows":    func(c *coleo.Change) { c.Reading.Known = false },
		"an arm that works":              func(c *coleo.Change) { c.Reading.State = coleo.Processing },
		"no dialog":                      func(c *coleo.Change) { c.Reading.Dialog = nil },
		"an arm whose policy is not set": func(*coleo.Change) { mode = coleo.PolicyOff },
	} {
		c := shown(coleo.Fingerprint(what))
		change(&c)
		consider(c)
		mode = coleo.PolicyRead
	}
	if len(judged) != 2 {
		t.Errorf("also judged: %v", judged[2:])
	}
	consider(shown("c")) // in the mode PolicyRead; the decision is to ask
	if len(judged) != 3 {
		t.Errorf("judged %v, want c too", judged)
	}
}
