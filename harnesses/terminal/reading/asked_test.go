package reading

import (
	"os"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// claudeBench is a bench with the rules of Claude Code and a terminal of 100 columns and 30 rows.
func claudeBench(t *testing.T) *bench {
	t.Helper()
	text, err := os.ReadFile("../../claudecode/harness.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := rules.ParseSpec("harness.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, now: time.Unix(1000, 0)}
	b.r = New(spec, 100, 30, b.now, func(c coleo.Change) { b.changes = append(b.changes, c) })
	b.r.prompt.none = true
	return b
}

// permission shows a permission dialog of Claude Code 2.1.329 with the given rows as its subject. The row
// "edge" is the dialog's upper edge. Without this row, the dialog's beginning is out of sight.
func permission(rows ...string) string {
	edge, dashed := strings.Repeat("─", 100), " "+strings.Repeat("╌", 98)
	var all []string
	for _, row := range rows {
		switch row {
		case "edge":
			row = edge
		case "-":
			row = dashed
		}
		all = append(all, row)
	}
	all = append(all, " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "", " Esc to cancel · Tab to amend")
	return "\x1b[2J\x1b[H" + strings.Join(all, "\r\n")
}

func before(tool, input string) string {
	return `{"hook_event_name":"PreToolUse","tool_name":"` + tool + `","tool_input":` + input + `,"cwd":"/w"}`
}

const prompted = `{"hook_event_name":"UserPromptSubmit","prompt":"do it","prompt_id":"p1","session_id":"s"}`

// The model makes a harmless call, and then another call whose dialog shows the text of the harmless call.
// The policy must not match the dialog with the harmless call.
func TestAHarmlessCallDoesNotStandInForTheCallOfTheDialog(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harmless, asked string
		screen          string
	}{
		"the description is one of the agent CLI's own rows": {
			before("Bash", `{"description":"rm -rf x;","command":"ls"}`),
			before("Bash", `{"description":"Bash command","command":"rm -rf x; ls"}`),
			permission("edge", " Bash command", " Bash command", "-", " rm -rf x; ls", "-", " This command requires approval"),
		},
		"the command is one of the agent CLI's own rows": {
			before("Bash", `{"description":"list files","command":"ls"}`),
			before("Bash", `{"description":"list files ls","command":"Tip: auto mode || rm -rf x"}`),
			permission("edge", " Bash command", " list files ls", "-", " Tip: auto mode || rm -rf x", "-"),
		},
		"a tool that the policy does not know": {
			before("Bash", `{"description":"Monitor Watch rm -rf x;","command":"ls"}`),
			before("Monitor", `{"description":"Watch","command":"rm -rf x; ls"}`),
			permission("edge", " Monitor", " Watch", "-", " rm -rf x; ls", "-"),
		},
		"the hook's report has no room for the input": {
			before("Bash", `{"description":"x","command":"rm -rf x\nls\nls"}`),
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/w"}`,
			permission(" │ ls", " │ ls", "-"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := claudeBench(t)
			b.reports(prompted).reports(c.harmless)
			b.reports(`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`).reports(c.asked).shows(c.screen)
			if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
				t.Errorf("the dialog counts as about %+v, %v", q, err)
			}
		})
	}
}

// A long command full of "<" must not get lost on its way from the hook program to the Reader. Otherwise the
// policy would match the command's dialog with the earlier, harmless call, and would approve it.
func TestALongCallWithMarkupReachesTheReader(t *testing.T) {
	t.Parallel()
	path := hook.Path(t.TempDir())
	file, err := hook.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := claudeBench(t)
	for _, report := range []string{prompted, before("Bash", `{"description":"x","command":"cat a.go\nls\nls"}`),
		before("Bash", `{"description":"x","command":"rm -rf x #`+strings.Repeat("<", 60_000)+`\nls\nls"}`)} {
		if err := hook.Append(path, strings.NewReader(report), b.now); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range file.Lines() {
		b.r.AddReport(line, b.now)
	}
	b.shows(permission(" │ ls", " │ ls", "-"))
	if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("the dialog counts as about %+v, %v", q, err)
	}
}

// A call that has ended cannot be the call of the dialog.
func TestACallOfAnUnknownToolCountsUntilItsEnd(t *testing.T) {
	t.Parallel()
	b := claudeBench(t).reports(prompted).reports(before("Glob", `{"pattern":"*.go"}`))
	b.reports(`{"hook_event_name":"PreToolUse","tool_name":"Write"}`) // its dialog has another title
	b.reports(before("Agent", `{"prompt":"look"}`)).reports(before("Bash", `{"description":"look","command":"ls"}`))
	b.shows(permission("edge", " Bash command", " look", "-", " ls", "-"))
	if q, err := b.r.AskedTool(b.asked()); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("beside a call that runs, the dialog counts as about %+v, %v", q, err)
	}
	b.reports(`{"hook_event_name":"PostToolUse","tool_name":"Glob"}`)
	if q, err := b.r.AskedTool(b.asked()); err != nil || q.Command != "ls" || q.Folder != "/w" {
		t.Errorf("the dialog is about %+v, %v; want ls", q, err)
	}
}

// The screen shows only the end of a command, and several calls have this end. Coleo must not complete the
// command with the text of one of these calls. A person could then approve one call and see the text of
// another.
func TestACutSubjectIsNotCompletedWithTheTextOfAnotherCall(t *testing.T) {
	t.Parallel()
	harmless := before("Bash", `{"description":"x","command":"cat a.go\nls\nls"}`)
	for name, asked := range map[string]string{
		"another command":             before("Bash", `{"description":"x","command":"rm -rf x\nls\nls"}`),
		"a command without its input": `{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/w"}`,
	} {
		for _, order := range [][]string{{harmless, asked}, {asked, harmless}} {
			b := claudeBench(t).reports(prompted).reports(order[0]).reports(order[1])
			b.shows(permission(" │ ls", " │ ls", "-")).asked()
			if d := b.r.reading.Dialog; !d.Truncated || strings.Contains(d.Subject, "command:") {
				t.Errorf("%s: the subject counts as whole: %+v", name, d)
			}
		}
	}
	b := claudeBench(t).reports(prompted).reports(harmless).reports(harmless)
	b.shows(permission(" │ ls", " │ ls", "-")).asked()
	if d := b.r.reading.Dialog; d.Truncated || !strings.Contains(d.Subject, "cat a.go") {
		t.Errorf("the call is reported twice, and the subject is %+v", d)
	}
}
