package armtools

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"coleo.dev"
)

func TestM18Tasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.process("a")
	a := now(t, s, coleo.ToolTaskWrite, map[string]any{"tasks": []map[string]any{{"text": "one"}, {"text": "two"}}})
	if a.failed || a.text != "The tasks are now:\nt1 [pending] one\nt2 [pending] two" {
		t.Errorf("task_write = %+v", a)
	}
	now(t, s, coleo.ToolTaskUpdate, map[string]any{"id": "t1", "status": "in_progress"})
	now(t, s, coleo.ToolTaskComplete, map[string]any{"id": "t2"})
	if a := now(t, s, coleo.ToolTaskCheck, nil); a.text != "1 tasks are not completed:\nt1 [in_progress] one" {
		t.Errorf("task_check = %+v", a)
	}
	for _, wrong := range []map[string]any{{"id": "t9", "status": "completed"}, {"id": "t1", "status": "maybe"},
		{"id": 1}} {
		if a := now(t, s, coleo.ToolTaskUpdate, wrong); !a.failed {
			t.Errorf("task_update %v = %+v, want an error", wrong, a)
		}
	}
	o.end()
	o.start()
	if list, err := o.dispatcher.Tasks(t.Context(), "a"); err != nil || len(list) != 2 ||
		list[1].Status != coleo.TaskDone {
		t.Errorf("after a restart the tasks are %+v, %v", list, err)
	}
	if other, err := o.dispatcher.Tasks(t.Context(), "b"); err != nil || len(other) != 0 {
		t.Errorf("another arm has the tasks %+v, %v", other, err)
	}
	if n := len(o.events(coleo.EventTasks)); n != 3 {
		t.Errorf("%d events of tasks, want 3", n)
	}
	a = now(t, s, coleo.ToolTaskWrite, map[string]any{"tasks": []map[string]any{{"text": "new"}}})
	if !strings.Contains(a.text, "t3 [pending] new") {
		t.Errorf("an id is used again: %+v", a)
	}
}

func TestFilesAreClaimedUntilTheArmEnds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	a, b := o.process("a"), o.process("b")
	claim := func(s *mcp.ClientSession, path, kind string) answered {
		return now(t, s, coleo.ToolClaimFile, map[string]any{"file_path": path, "claim_type": kind})
	}
	if r := claim(a, "x.go", "write"); r.failed {
		t.Fatalf("claim = %+v", r)
	}
	for kind, refused := range map[string]bool{"read": false, "write": true, "exclusive": true} {
		if r := claim(b, "/work/../work/x.go", kind); r.failed != refused {
			t.Errorf("a %s claim beside a write claim = %+v", kind, r)
		}
	}
	if r := now(t, b, coleo.ToolConflicts, map[string]any{"file_path": "x.go"}); !strings.Contains(r.text, "arm-a") {
		t.Errorf("check_conflicts = %+v", r)
	}
	result := call(t.Context(), a, coleo.ToolAskUser, map[string]any{"question": "Still there?"})
	o.waiting(1)
	o.check(o.dispatcher.Ended(t.Context(), "a"))
	if r := claim(b, "x.go", "exclusive"); r.failed {
		t.Errorf("after the end of the other arm: %+v", r)
	}
	if r := <-result; !r.failed || !strings.Contains(r.text, "withdrawn") {
		t.Errorf("the question of the ended arm = %+v", r)
	}
}

func TestRemarksAreInTheLog(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.process("a")
	for range 2 {
		now(t, s, coleo.ToolHeartbeat, map[string]any{"status": "testing", "current_task": "t1"})
	}
	now(t, s, coleo.ToolShareNote, map[string]any{"title": "Ports", "content": "80 is taken", "tags": []string{"net"}})
	now(t, s, coleo.ToolStatusReport, map[string]any{"status": "blocked", "summary": "no key",
		"nextSteps": []string{"ask"}})
	if a := now(t, s, coleo.ToolStatusReport, map[string]any{"status": "fine", "summary": ""}); !a.failed {
		t.Errorf("an unknown status = %+v", a)
	}
	if a := now(t, s, coleo.ToolInstructions, nil); !strings.Contains(a.text, "arm-a") ||
		!strings.Contains(a.text, "do it") {
		t.Errorf("get_my_instructions = %+v", a)
	}
	var got []coleo.Remark
	for _, e := range o.events(coleo.EventInfo) {
		w, err := coleo.DecodeWork(e)
		o.check(err)
		got = append(got, w.(coleo.Remark))
	}
	if len(got) != 3 || got[0].Text != "testing: t1" || got[1].Tags[0] != "net" || got[2].Report.NextSteps[0] != "ask" {
		t.Errorf("the log has %+v", got)
	}
}

func TestWhatAnArmAsksIsBounded(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	s := o.process("a")
	long := strings.Repeat("x", 70_000)
	for tool, args := range map[string]map[string]any{
		coleo.ToolAskUser:    {"question": long},
		coleo.ToolSubmitPlan: {"plan": " "},
		coleo.ToolShareNote:  {"title": "t", "content": long},
		coleo.ToolClaimFile:  {"file_path": long, "claim_type": "read"},
		coleo.ToolTaskWrite:  {"tasks": slices.Repeat([]map[string]any{{"text": "x"}}, 201)},
	} {
		if a := now(t, s, tool, args); !a.failed {
			t.Errorf("%s = %.200v, want an error", tool, a)
		}
	}
	for n := range 20 {
		call(t.Context(), s, coleo.ToolAskUser, map[string]any{"question": strings.Repeat("?", n+1)})
	}
	o.waiting(20)
	if a := now(t, s, coleo.ToolAskUser, map[string]any{"question": "one more"}); !a.failed {
		t.Errorf("the 21st question = %+v", a)
	}
}
