package conformance

import (
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// withAsks is a catalogue of the fake.
const withAsks = `[quiet_tools]
noop = '{}'
subagent = '{"task":"say hi"}'

[[asks]]
name = "write"
doc = "The model writes a file."
kind = "permission"
tool = "write"
input = '{"path":"{{.Nonce}}.txt","content":"{{.Nonce}}"}'
writes = "{{.Nonce}}.txt"
shows = "{{.Nonce}}"
options = ["^Yes$", "^No$"]
result = "^written"

[[asks]]
name = "shell"
doc = "The model runs a command."
kind = "permission"
tool = "shell"
input = '{"command":"echo {{.Nonce}} >> done.log"}'
writes = "done.log"

[[asks]]
name = "mcp"
doc = "The model calls a tool of an MCP server."
kind = "permission"
tool = "mcp__ping"
input = '{"text":"{{.Nonce}}"}'
calls_mcp = true

[[asks]]
name = "question"
doc = "The model asks a question."
kind = "question"
tool = "question"
input = '{"questions":[{"question":"Which colour?","options":[{"label":"Red"},{"label":"Blue"}]}]}'
refuses = { approve = "does not offer", words = "takes no words" }
[[asks.page]]
answers = ["Red", "Blue"]

[[asks]]
name = "own"
doc = "It is started in its own way."
kind = "permission"
args = ["--start", "pause 200ms"]
tool = "write"
input = '{"path":"own.txt","content":"{{.Nonce}}"}'
writes = "own.txt"

[[rule]]
name = "working"`

const workingRule = "[[rule]]\nname = \"working\""

// asksOf checks dialogs from the catalogue of the fake agent CLI, by their names. Before that, it edits the
// fake's description.
func asksOf(t *testing.T, names string, edits ...string) AsksReport {
	t.Helper()
	h := fakeHarness(t, append([]string{workingRule, withAsks}, edits...)...).(accounting).Harness
	list, err := PickAsks(h, names)
	if err != nil {
		t.Fatal(err)
	}
	report, err := RunAsks(t.Context(), h, fakeConfig(t), list)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// outcome returns the result of one line.
func (r AsksReport) outcome(t *testing.T, name string) AskResult {
	t.Helper()
	for _, a := range r.Asks {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("the report has no %q: %+v", name, r)
	return AskResult{}
}

func TestEachDialogOfACatalogueIsAnsweredInEachWay(t *testing.T) {
	t.Parallel()
	report := asksOf(t, "all")
	for name, details := range map[string]string{
		"write": "denied, approved", "shell": "denied, approved", "mcp": "denied, approved",
		"question": "approve refused, words refused, denied, answer 1, answer 2", "own": "denied, approved",
		listedCheck: "5 tools are offered", quietCheck: "2 tools asked nothing, 0 were not called",
	} {
		if got := report.outcome(t, name); !got.Pass || got.Details != details {
			t.Errorf("%s: %+v\nwant %q", name, got, details)
		}
	}
}

// Each case has a fault of an agent CLI, a harness or a catalogue of dialogs. The check of the dialog that the
// fault affects must fail.
func TestACatalogueFindsEachFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line, says string
		edits      []string
	}{
		"what acts before it is answered": {"write", "before it was answered: ", word("hasty")},
		"another kind of dialog": {"write", "is of the kind question, want permission",
			[]string{"name = \"permission\"\nkind = \"permission\"", "name = \"permission\"\nkind = \"question\""}},
		"a denial that approves": {"write", "denied: ", []string{"deny = '^No$'\ndeny_keys = \"ESCAPE\"", "deny = '^Yes$'"}},
		"an approval that denies": {"write", "approved: ",
			[]string{"approve = '^Yes$'\nalways", "approve = '^No$'\nalways"}},
		"a subject that is not shown": {"write", "title", []string{`subject = "above"`, ``}},
		"an option that is missing":   {"write", `one that matches "^Perhaps$"`, []string{`"^No$"]`, `"^Perhaps$"]`}},
		"a tool that does not ask":    {"write", "no dialog opened", []string{"ask = \"--ask\"", "ask = \"--ask=false\""}},
		"a refusal that does not come": {"question", "approve refused: it got <nil>",
			[]string{"name = \"question\"\nkind = \"question\"\nwhen",
				"name = \"question\"\nkind = \"question\"\napprove = '^Red$'\nwhen"}},
		"a refusal of words that does not come": {"question", "words refused: it got",
			[]string{`words = "takes no words"`, `words = "takes two words"`}},
		"an answer that was not picked": {"question", "was not picked",
			[]string{`["Red", "Blue"]`, `["R", "Red"]`}},
		"a quiet tool that asks": {quietCheck, "listed as a tool that never asks", []string{`noop = '{}'`,
			`write = '{"path":"x","content":"y"}'`}},
		"a tool that nobody has listed": {listedCheck, "neither in [[asks]] nor in quiet_tools: question",
			[]string{`tool = "question"`, `tool = "questions"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := c.line
			if strings.Contains(c.line, "_") {
				names = "all"
			}
			got := asksOf(t, names, c.edits...).outcome(t, c.line)
			if got.Pass || !strings.Contains(got.Details, c.says) {
				t.Errorf("%+v\nwant it to fail with %q", got, c.says)
			}
		})
	}
}

func TestLinesOfACatalogueAreNamed(t *testing.T) {
	t.Parallel()
	h := fakeHarness(t, workingRule, withAsks).(accounting).Harness
	if all, err := PickAsks(h, "all"); err != nil || len(all) != 5 {
		t.Errorf("all = %v, %v", all, err)
	}
	if _, err := PickAsks(h, "write,nothing"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("an unknown line: %v", err)
	}
	if _, err := PickAsks(fakeHarness(t), "all"); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a harness without a catalogue: %v", err)
	}
}

// An entry of a catalogue can list several tool calls. With `together`, all of them must be in one reply of
// the model. Without it, each call must wait for the result of the call before.
func TestCallsOfALineComeTogetherOrOneAfterAnother(t *testing.T) {
	t.Parallel()
	a := coleo.Ask{Name: "loop", Before: []coleo.AskCall{{Tool: "list", Input: "{}"}, {Tool: "list", Input: "{}"}},
		Tool: "list", Input: "{}"}
	for together, want := range map[bool][]int{false: {1, 1, 1}, true: {3}} {
		a.Together = together
		var got []int
		for _, r := range scriptOf(a, "word").Rules {
			got = append(got, len(r.Reply))
		}
		if !slices.Equal(got, want) {
			t.Errorf("together %t: the answers have %v calls, want %v", together, got, want)
		}
	}
}

// A dialog can have several pages. A page has the kind of the dialog's entry, unless the page names another
// kind.
func TestAPageHasItsOwnKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page, dialog coleo.DialogKind
		fits         bool
	}{
		{"", coleo.DialogQuestion, true},
		{"", coleo.DialogPlan, false},
		{coleo.DialogPlan, coleo.DialogPlan, true},
		{coleo.DialogPlan, coleo.DialogQuestion, false},
	} {
		x := attempt{ask: coleo.Ask{Kind: coleo.DialogQuestion},
			dialog: &coleo.Dialog{Kind: c.dialog, Options: []string{"Red"}}}
		_, _, _, err := x.reply(way{choice: coleo.ChoiceAnswer}, coleo.AskPage{Kind: c.page, Answers: []string{"Red"}})
		if (err == nil) != c.fits {
			t.Errorf("a page of the kind %q and a dialog of the kind %q: %v", c.page, c.dialog, err)
		}
	}
}
