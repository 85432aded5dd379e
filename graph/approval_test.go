package graph

import (
	"slices"
	"testing"

	"coleo.dev"
)

func dialog(subject string) coleo.Decided {
	return coleo.Decided{Dialog: coleo.Dialog{Kind: coleo.DialogPermission, Title: "May I?", Subject: subject,
		Fingerprint: "f"}, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}}
}

func TestAnApprovalIsMatchedWithItsCall(t *testing.T) {
	t.Parallel()
	one := coleo.ToolCall{ID: "1", Name: "bash", Kind: coleo.ToolExecute, Command: "make  test"}
	two := coleo.ToolCall{ID: "2", Name: "edit", Kind: coleo.ToolEdit, Files: []string{"/w/a.go"}}
	waits := coleo.Change{Reading: coleo.Reading{State: coleo.WaitingApproval, Dialog: &coleo.Dialog{Fingerprint: "f"}}}
	done := coleo.ToolEnd{ID: "1", Outcome: coleo.ToolSuccess}
	other := coleo.ToolCall{ID: "3", Name: "x", Kind: coleo.ToolOther}
	cut := dialog("make")
	cut.Dialog.Truncated = true
	login := dialog("make test")
	login.Dialog.Kind = coleo.DialogOther
	for name, c := range map[string]struct {
		work []any
		call string
		how  Match
	}{
		"a command":                           {[]any{two, one, dialog("make test")}, "r/1", MatchSubject},
		"a file":                              {[]any{one, two, dialog("a.go")}, "r/2", MatchSubject},
		"no subject":                          {[]any{one, two, dialog("")}, "r/1", MatchOrder},
		"another subject":                     {[]any{two, one, dialog("rm x")}, "r/2", MatchOrder},
		"a cut subject":                       {[]any{two, one, cut}, "r/2", MatchOrder},
		"the call is told later":              {[]any{dialog("make test"), two, one}, "r/1", MatchSubject},
		"a call without a subject, later":     {[]any{dialog("make test"), other}, "r/3", MatchOrder},
		"another call is told later":          {[]any{dialog("rm x"), one}, "", ""},
		"the call has ended in the meantime":  {[]any{one, waits, done, dialog("make test")}, "r/1", MatchSubject},
		"the call ended before it was asked":  {[]any{one, done, waits, dialog("make test")}, "", ""},
		"the question is not about a call":    {[]any{one, login}, "", ""},
		"a second approval of the same words": {[]any{one, dialog("make test"), two, dialog("make test")}, "r/2", MatchOrder},
	} {
		log := events("r", append([]any{coleo.Receipt{}, coleo.Turn{}}, c.work...)...)
		g := reduce(log)
		last := &Approval{}
		for _, n := range g.Document().Nodes {
			if n.Approval != nil {
				last = n.Approval
			}
		}
		if last.Call != c.call || last.Matched != c.how {
			t.Errorf("%s: matched %q by %q, want %q by %q", name, last.Call, last.Matched, c.call, c.how)
		}
		if c.call != "" && !slices.ContainsFunc(g.Document().Edges, func(e Edge) bool {
			return e.Kind == EdgeAnswered && e.To == c.call && e.Matched == c.how
		}) {
			t.Errorf("%s: there is no edge", name)
		}
	}
}

func TestG7ASuspensionIsAnsweredOrGone(t *testing.T) {
	t.Parallel()
	waits := coleo.Change{Reading: coleo.Reading{State: coleo.WaitingApproval, Dialog: &coleo.Dialog{Fingerprint: "f",
		Title: "T"}}}
	works := coleo.Change{Reading: coleo.Reading{State: coleo.Executing}}
	log := events("r", coleo.Receipt{}, waits, waits, works, waits, dialog(""))
	for i, want := range []string{0: "", 1: "waits for an answer", 2: "waits for an answer", 3: "gone"} {
		if n, ok := reduce(log[:i+1]).Node("r/suspension:1"); ok && n.suspensionState() != want || ok != (want != "") {
			t.Errorf("after %d events the dialog is %q, want %q", i+1, n.suspensionState(), want)
		}
	}
	g := reduce(log)
	first, _ := g.Node("r/suspension:1")
	second, ok := g.Node("r/suspension:2")
	if first.suspensionState() != "gone" || !ok || second.suspensionState() != "answered" {
		t.Errorf("at the end the dialogs are %q and %q", first.suspensionState(), second.suspensionState())
	}
}
