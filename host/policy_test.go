package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/hook"
)

// policed is a part of a harness whose hook reports the calls of the tool Bash. The test writes
// these reports itself.
const policed = `
[hook]
event = "event"
[[hook.report]]
event = "Tool"
state = "executing"
tool = "tool"
input = "input"
folder = "cwd"
[[hook.report]]
event = "Stop"
answer = "answer"

[policy.shell]
env = ["SHELL"]
names = ["bash"]
[[policy.tool]]
name = "Bash"
category = "execute"
command = "command"
shows = ["command"]
free = ["timeout"]
`

// thinks makes the fake agent CLI work for some time before it shows a dialog.
const thinks = "pause 400ms\n"

// newDiskStage is like newStage, but its folder is not in /dev, because a workspace cannot be
// there. If the folder for temporary files is in /dev, the stage is in /var/tmp.
func newDiskStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir()}
	if strings.HasPrefix(s.dir, "/dev/") {
		var err error
		if s.dir, err = os.MkdirTemp("/var/tmp", "coleo-host-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(s.dir); err != nil {
				t.Error(err)
			}
		})
	}
	return newStageOf(t, "", s)
}

// policedArm starts an arm with a policy. Its work folder contains the file a.txt.
func (s *stage) policedArm(mode coleo.PolicyMode) string {
	s.t.Helper()
	spec, err := os.ReadFile("../cmd/coleo/testdata/fake.toml")
	s.check(err)
	text := strings.Replace(string(spec), `name = "fake"`, `name = "policed"`, 1) + policed
	s.check(os.WriteFile(s.path("harnesses/policed.toml"), []byte(text), 0o600))
	work := s.path("work-ada")
	s.check(os.MkdirAll(work, 0o700))
	s.check(os.WriteFile(filepath.Join(work, "a.txt"), []byte("a\n"), 0o600))
	o := s.order("ada")
	o.Harness, o.Config.Workdir, o.Config.Policy = "policed", work, mode
	o.Env = map[string]string{"SHELL": "/bin/bash"}
	id := must[bus.ArmReport](s, bus.OpSpawn, o).ID
	s.awaitState(id, coleo.Idle)
	return id
}

// call is a call of a tool in the form in which the hook of an agent CLI reports it.
type call struct {
	tool  string
	input map[string]any
	cwd   string // the call's folder: "" for the work folder, "none" for no folder
}

func bash(command string) call { return call{tool: "Bash", input: map[string]any{"command": command}} }

// hookReports writes a report in the same way as the hook of the agent CLI.
func (s *stage) hookReports(id string, c call) {
	s.t.Helper()
	payload := map[string]any{"event": "Tool", "tool": c.tool, "input": c.input, "cwd": s.path("work-ada")}
	switch c.cwd {
	case "":
	case "none":
		delete(payload, "cwd")
	default:
		payload["cwd"] = c.cwd
	}
	raw, err := json.Marshal(payload)
	s.check(err)
	path := hook.Path(s.path("arms/" + id + "/g1"))
	s.check(hook.Append(path, strings.NewReader(string(raw)), time.Now()))
}

// judged reports calls, and then makes the agent CLI show a dialog. It returns the decision of the
// arm's policy.
func (s *stage) judged(id, subject string, calls ...call) coleo.PolicyDecision {
	s.t.Helper()
	before := len(s.events(id, coleo.EventPolicy))
	s.prompt(id, thinks+"dialog "+subject)
	for _, c := range calls {
		s.hookReports(id, c)
	}
	s.until("the policy has decided", func() bool { return len(s.events(id, coleo.EventPolicy)) > before })
	return payloads[coleo.PolicyDecision](s, id, coleo.EventPolicy)[before]
}

// chosen returns the options that were chosen in the dialogs of the fake agent CLI.
func (s *stage) chosen() (out []string) {
	s.t.Helper()
	list, err := fakeagent.ReadRecord(filepath.Join(s.path("work-ada"), fakeagent.RecordFile))
	s.check(err)
	for _, e := range list {
		if e.Kind == fakeagent.Chosen {
			out = append(out, e.Text)
		}
	}
	return out
}

// dismiss denies the open dialog, as a person does.
func (s *stage) dismiss(id string) {
	s.t.Helper()
	s.until("a dialog is open", func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog != nil
	})
	must[any](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}})
	s.stopped(id)
}

// stopped reports the end of the turn, and waits until the arm is idle.
func (s *stage) stopped(id string) {
	s.t.Helper()
	raw := strings.NewReader(`{"event":"Stop","answer":"done"}`)
	s.check(hook.Append(hook.Path(s.path("arms/"+id+"/g1")), raw, time.Now()))
	s.awaitState(id, coleo.Idle)
}

func TestAPolicyInShadowRecordsAndPressesNothing(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	id := s.policedArm(coleo.PolicyShadow)
	got := s.judged(id, "cat a.txt", bash("cat a.txt"))
	want := coleo.PolicyDecision{Dialog: got.Dialog, Title: "Do you want to proceed?", Decision: "allow",
		Rule: "user: preset read", Why: got.Why, Mode: coleo.PolicyShadow, Tool: "Bash", Category: "execute",
		Subject: "cat a.txt", Folder: s.path("work-ada")}
	if got != want || got.Dialog == "" || got.Why == "" {
		t.Errorf("the policy says %+v, want %+v", got, want)
	}
	if e := s.events(id, coleo.EventPolicy)[0]; e.Run == "" {
		t.Errorf("the event %+v belongs to no run", e)
	}
	s.awaitState(id, coleo.WaitingApproval)
	if list := s.chosen(); len(list) > 0 {
		t.Errorf("%q was chosen by a policy in shadow", list)
	}
	s.dismiss(id)
	if p := s.events(id, coleo.EventPolicy); len(p) != 1 {
		t.Errorf("%d policy events for one dialog", len(p))
	}
}

func TestAnArmWithoutAPolicyIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	id := s.policedArm("")
	s.prompt(id, thinks+"dialog cat a.txt")
	s.hookReports(id, bash("cat a.txt"))
	s.awaitState(id, coleo.WaitingApproval)
	s.dismiss(id)
	if p := s.events(id, coleo.EventPolicy); len(p) > 0 || len(s.chosen()) != 1 {
		t.Errorf("without a policy there are %d policy events, and %q was chosen", len(p), s.chosen())
	}
}

func TestAPolicyForReadingApprovesWhatOnlyReads(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	id := s.policedArm(coleo.PolicyRead)
	if got := s.judged(id, "cat a.txt", bash("cat a.txt")); !got.Applied || got.Decision != "allow" || got.Problem != "" {
		t.Fatalf("cat of a file in the workspace: %+v", got)
	}
	s.stopped(id)
	approval := payloads[coleo.Decided](s, id, coleo.EventDecision)
	if len(approval) != 1 || approval[0].Policy != "user: preset read" ||
		approval[0].Decision.Choice != coleo.ChoiceApprove {
		t.Errorf("the approval is recorded as %+v", approval)
	}
	if got := s.chosen(); len(got) != 1 || got[0] != "Yes" {
		t.Errorf("%q was chosen, want Yes", got)
	}
}

func TestAPolicyForReadingAsksAboutEverythingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, subject string
		calls         []call
		why           string
	}{
		{"a command that writes", "touch b.txt", []call{bash("touch b.txt")}, "touch is not known to only read"},
		{"a file outside", "cat /etc/hostname", []call{bash("cat /etc/hostname")}, "outside the workspace"},
		{"no report of a hook", "cat ./a.txt", nil, "no call"},
		{"a report about another command", "rm -f a.txt", []call{bash("cat a.txt")}, "no call"},
		{"a report about the beginning alone", "cat a.txt && touch c", []call{bash("cat a.txt")}, "no call"},
		{"a report about more than is shown", "head a.txt", []call{bash("head a.txt; touch c")}, "no call"},
		{"no folder", "tail a.txt", []call{{tool: "Bash", input: map[string]any{"command": "tail a.txt"}, cwd: "none"}},
			"the folder of the command is not known"},
		{"a folder outside", "wc a.txt", []call{{tool: "Bash", input: map[string]any{"command": "wc a.txt"}, cwd: "/"}},
			"outside the workspace"},
		{"another input", "nl a.txt",
			[]call{{tool: "Bash", input: map[string]any{"command": "nl a.txt", "unsandboxed": true}}}, "unsandboxed"},
		{"another tool", "rev a.txt", []call{{tool: "Shell", input: map[string]any{"command": "rev a.txt"}}}, "no call"},
		{"two calls that fit", "cat a.txt", []call{bash("cat a.txt"), {tool: "Bash", cwd: "/",
			input: map[string]any{"command": "cat a.txt"}}}, "2 different calls"},
		{"two commands that differ in blanks", "cat a .txt", []call{bash("cat a.txt"), bash("cat a .txt")},
			"2 different calls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newDiskStage(t)
			id := s.policedArm(coleo.PolicyRead)
			got := s.judged(id, c.subject, c.calls...)
			if got.Decision != "ask" || got.Applied || !strings.Contains(got.Why, c.why) {
				t.Errorf("%+v, want ask, because %s", got, c.why)
			}
			s.awaitState(id, coleo.WaitingApproval)
			s.dismiss(id)
			for _, choice := range s.chosen() {
				if choice == "Yes" {
					t.Error("Yes was chosen")
				}
			}
		})
	}
}

// The screen cuts off a command, and the hook reports the whole command. The policy must decide
// about the whole command.
func TestACommandThatTheScreenCutsOffIsJudgedByTheHook(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	id := s.policedArm(coleo.PolicyRead)
	if got := s.judged(id, "cat a.txt a.txt; tou…", bash("cat a.txt a.txt; touch b.txt")); got.Decision != "ask" ||
		got.Subject != "cat a.txt a.txt; touch b.txt" || got.SubjectCut {
		t.Errorf("a command that writes behind what is shown: %+v", got)
	}
	s.dismiss(id)
	// Another file, because a call that was denied counts for two more seconds.
	if got := s.judged(id, "cat c.txt c.t…", bash("cat c.txt c.txt")); !got.Applied || got.Subject != "cat c.txt c.txt" {
		t.Errorf("a command that only reads: %+v", got)
	}
	s.stopped(id)
	if got := s.judged(id, "cat a.txt; …", bash("cat a.txt; cat a.txt"),
		bash("cat a.txt; rm a.txt")); got.Decision != "ask" {
		t.Errorf("two commands fit what is shown: %+v", got)
	}
	s.dismiss(id)
}

func TestADialogThatChangedAfterTheJudgementIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	id := s.policedArm(coleo.PolicyRead)
	times := 0
	s.host.Judged = func(coleo.PolicyDecision) {
		if times++; times > 1 {
			return
		}
		must[any](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
		s.until("the next dialog is open", func() bool {
			d := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog
			return d != nil && d.Subject == "touch b.txt"
		})
	}
	s.prompt(id, thinks+"dialog cat a.txt\ndialog touch b.txt")
	s.hookReports(id, bash("cat a.txt"))
	s.until("both dialogs are judged", func() bool { return len(s.events(id, coleo.EventPolicy)) == 2 })
	for _, got := range payloads[coleo.PolicyDecision](s, id, coleo.EventPolicy) {
		if got.Applied || got.Decision == "allow" && got.Problem == "" {
			t.Errorf("%+v, want no answer", got)
		}
	}
	s.awaitState(id, coleo.WaitingApproval)
	if list := s.chosen(); len(list) != 1 {
		t.Errorf("%q was chosen, want only the answer of the person", list)
	}
	s.dismiss(id)
}

func TestWhatTheRulesDenyIsDeniedWithTheRule(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	s.host.Policy = PolicyFiles{User: s.path("policy.toml")}
	s.check(os.WriteFile(s.path("policy.toml"), []byte("[[rule]]\ncommand = \"rm *\"\ndecision = \"deny\"\n"), 0o600))
	id := s.policedArm(coleo.PolicyRead)
	if got := s.judged(id, "rm a.txt", bash("rm a.txt")); !got.Applied || got.Decision != "deny" {
		t.Fatalf("rm: %+v", got)
	}
	s.until("the agent CLI is told", func() bool { return len(s.prompted("ada")) == 2 })
	if got := s.prompted("ada")[1]; !strings.Contains(got, `user: command "rm *"`) {
		t.Errorf("the agent CLI is told %q", got)
	}
	if got := s.chosen(); len(got) != 1 || got[0] == "Yes" {
		t.Errorf("%q was chosen, want a denial", got)
	}
}

func TestAPolicyThatCannotBeReadAsks(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	s.host.Policy = PolicyFiles{User: s.path("policy.toml")}
	s.check(os.WriteFile(s.path("policy.toml"), []byte("[[rule]]\ncommand = \"rm *\"\ndecision = \"no\"\n"), 0o600))
	id := s.policedArm(coleo.PolicyRead)
	if got := s.judged(id, "cat a.txt", bash("cat a.txt")); got.Decision != "ask" ||
		!strings.Contains(got.Why, "policy.toml") {
		t.Errorf("with a wrong file of rules: %+v", got)
	}
	s.dismiss(id)
}

func TestAGrantIsForOneArmAndNeverAgainstARule(t *testing.T) {
	t.Parallel()
	s := newDiskStage(t)
	s.host.Policy = PolicyFiles{User: s.path("policy.toml"), GrantFile: s.path("grants.json")}
	grant := func(arm string) {
		raw, err := json.Marshal([]map[string]any{{"id": "g1", "arm": arm, "command": "touch *",
			"ends": time.Now().Add(time.Hour)}})
		s.check(err)
		s.check(os.WriteFile(s.path("grants.json"), raw, 0o600))
	}
	id := s.policedArm(coleo.PolicyRead)
	grant("another")
	if got := s.judged(id, "touch b.txt", bash("touch b.txt")); got.Decision != "ask" {
		t.Errorf("granted to another arm: %+v", got)
	}
	s.dismiss(id)
	grant(id)
	if got := s.judged(id, "touch b.txt", bash("touch b.txt")); !got.Applied || got.Rule != `grant g1: command "touch *"` {
		t.Errorf("granted: %+v", got)
	}
	s.stopped(id)
	s.check(os.WriteFile(s.path("policy.toml"), []byte("[[rule]]\ncategory = \"execute\"\ndecision = \"deny\"\n"), 0o600))
	if got := s.judged(id, "touch b.txt", bash("touch b.txt")); got.Decision != "deny" {
		t.Errorf("granted, and denied by a rule: %+v", got)
	}
}
