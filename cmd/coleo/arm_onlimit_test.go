package main

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

func TestWhatAnArmDoesAtALimitIsShownAndChanged(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if out := f.must("arm", "on-limit", f.name); !strings.Contains(out, "at a limit: wait") {
		t.Errorf("the verb says %q", out)
	}
	r := decode[coleo.OnLimitReport](f.world, "arm", "on-limit", f.name, "handover:claude-code,ask")
	if r.OnLimit != "handover:claude-code,ask" || r.Parked != nil || r.Arm != f.name {
		t.Errorf("the report is %+v", r)
	}
	for _, on := range []string{"account:b", "wait,ask", "handover:generic", "handover:nothing", ""} {
		e := f.fails(2, "arm", "on-limit", f.name, on)
		if on != "" && !strings.Contains(e.Message, "nothing was changed") && !strings.Contains(e.Message, "on_limit") {
			t.Errorf("%q: %+v", on, e)
		}
	}
	value := strings.TrimSpace(f.must("token", "create", "ci", "--scope", "read,spawn"))
	path := "/api/arms/" + f.name + "/on-limit"
	// Only a person may choose these policies.
	for _, on := range []string{"handover:generic", "handover:codex,wait", "ask", "", "nonsense"} {
		if got := f.asOperator(value, "POST", path, `{"onLimit":"`+on+`"}`); got != 403 {
			t.Errorf("a token with %q: %d", on, got)
		}
	}
	f.must("arm", "kill", f.name) // the choice must survive the next start
	f.must("arm", "recover", f.name)
	if out := f.must("arm", "on-limit", f.name); !strings.Contains(out, "handover:claude-code,ask") {
		t.Errorf("after a restart the verb says %q", out)
	}
	f.must("arm", "on-limit", f.name, "handover:codex,wait")
	reader := strings.TrimSpace(f.must("token", "create", "looks", "--scope", "read,prompt"))
	status, answer := f.answerTo(reader, "GET", path, "")
	if err := json.Unmarshal([]byte(answer), &r); err != nil || status != 200 || r.OnLimit != "handover:codex,wait" {
		t.Errorf("a token reads %d %s", status, answer)
	}
	if out := f.must("run", "events", "--arm", f.name, "--from", "0", "--kind", "on_limit"); strings.Count(out, "→") != 2 {
		t.Errorf("the events are\n%s", out)
	}
	f.must("arm", "kill", f.name)
	f.must("arm", "spawn", "-n", f.name, "--on-limit", "ask") // --on-limit must replace the earlier choice
	if out := f.must("arm", "on-limit", f.name); !strings.Contains(out, "at a limit: ask") {
		t.Errorf("after a new start the verb says %q", out)
	}
}
