package reading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// The subagents of an arm ask at the same time, so a call can wait for its dialog while other calls run.
// Coleo must remember the waiting call. Otherwise an earlier call whose text looks like the dialog would
// count as the call of the dialog.
func TestACallThatWaitsForItsDialogIsNotForgotten(t *testing.T) {
	t.Parallel()
	first := permission("edge", " Bash command", " first", "-", " make", "-")
	waits := before("Bash", `{"description":"x","command":"rm -rf x; ls"}`)
	harmless := before("Bash", `{"description":"x rm -rf x;","command":"ls"}`)
	dialog := permission("edge", " Bash command", " x", "-", " rm -rf x; ls", "-")
	var many []string
	for i := range maxReports {
		many = append(many, before("Bash", fmt.Sprintf(`{"description":"count","command":"wc -l %d"}`, i)))
	}
	for name, meanwhile := range map[string][]string{
		"many other calls": many,
		"the end of the turn": {`{"hook_event_name":"Stop","prompt_id":"p1","last_assistant_message":"They work."}`,
			prompted},
		"another turn": {strings.Replace(prompted, "p1", "p2", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := claudeBench(t).reports(prompted).reports(before("Bash", `{"description":"first","command":"make"}`))
			b.shows(first).reports(waits)
			b.after(time.Minute)
			for _, report := range append(meanwhile, harmless) {
				b.reports(report)
			}
			b.shows(dialog)
			if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
				t.Errorf("the dialog counts as about %+v, %v", q, err)
			}
		})
	}
}

// A call ends, and the model makes a call that looks the same, but in another folder. The hook's report of
// the second call is lost, for example because the disk is full. The policy must not use the first call's
// folder when it decides about the second call's dialog.
func TestACallThatHasEndedIsNotTheCallOfALaterDialog(t *testing.T) {
	t.Parallel()
	const input = `{"description":"look","command":"cat key"}`
	dialog := permission("edge", " Bash command", " look", "-", " cat key", "-")
	b := claudeBench(t).reports(prompted).reports(before("Bash", input)).shows(dialog)
	if q, err := b.r.AskedTool(b.asked()); err != nil || q.Command != "cat key" {
		t.Fatalf("the dialog is about %+v, %v", q, err)
	}
	b.shows("\x1b[2J\x1b[H")
	b.reports(`{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":` + input + `,"tool_response":{}}`)
	b.after(time.Minute).shows(dialog)
	if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("the next dialog counts as about %+v, %v", q, err)
	}
}

// An agent CLI can draw a text unlike the input. For example, Claude Code shows a letter and its accent as
// one character, and it obeys escape sequences. An earlier call whose text looks like the drawn text must not
// count as the call of the dialog.
func TestACallThatIsDrawnUnlikeItsInputIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	const drawn = "rm -rf é; ls"
	for name, input := range map[string]string{
		"a composed letter":     `{"description":"x","command":"rm -rf e\u0301; ls"}`,
		"an escape sequence":    `{"description":"x","command":"rm -rf é; \u001b[31mls"}`,
		"a return":              `{"description":"x","command":"rm -rf é; echo\rls"}`,
		"half a character":      `{"description":"x","command":"rm -rf é; ls\ud800"}`,
		"an input with no text": `{"description":["x"],"command":"rm -rf é; ls"}`,
		"no inputs":             `["x","rm -rf é; ls"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := claudeBench(t).reports(prompted).reports(before("Bash", `{"description":"x rm -rf é;","command":"ls"}`))
			b.reports(before("Bash", input)).shows(permission("edge", " Bash command", " x", "-", " "+drawn, "-"))
			if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
				t.Errorf("the dialog counts as about %+v, %v", q, err)
			}
		})
	}
}
