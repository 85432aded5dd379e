package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/conformance.md and docs/compatibility.md anew")

const checksPage = "../docs/conformance.md"

// page returns the text of docs/conformance.md about the checks.
func page() string {
	var b strings.Builder
	b.WriteString(`# What a harness must do

` + "`coleo harness test NAME`" + ` runs these checks against the real agent CLI and a scripted
model server. They need no key and no network. Only the model server's record and the
file system count as evidence, never the screen under test.

This page is generated from the checks: ` + "`go test ./conformance -run Documented -update`" + `.

| check | what is required | must pass | session |
|---|---|---|---|
`)
	for _, c := range Checks() {
		must, session := "", "its own"
		if c.Required {
			must = "yes"
		}
		if c.Shared {
			session = "shared"
		}
		doc := c.Doc
		if c.Skip != "" {
			doc += " (skipped: " + c.Skip + ")"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, doc, must, session)
	}
	b.WriteString(`
A harness is compatible if none of the checks that must pass fails. A check is skipped if the
harness does not claim the ability. If the harness claims the ability and the check fails, that is a
failure. A shared session is replaced after a failure.

The terminals are 120 columns wide and 40 rows high. What an agent CLI shows depends on that size.
` + "`--size 80x24`" + ` sets another size.
`)
	b.WriteString(eventsText)
	b.WriteString(settingsText)
	for _, c := range SettingChecks() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, c.Doc)
	}
	b.WriteString(asksText)
	for _, c := range (&catalogue{}).checks(nil, true) {
		fmt.Fprintf(&b, "- `%s`: %s\n", c.Name, c.Doc)
	}
	return b.String()
}

// eventsText is the part of the page about the checks of events.
const eventsText = `
## What the events report

The checks ` + "`tool_events`, `text_blocks` and `subagent_events`" + ` start an arm with a host agent, and
compare the events in its log with the model server's record. Each call must have its id, its
outcome, one start and one end, in the run of its prompt. Each text must be reported once, whole and
in order. The events may report nothing that the model has not done, and nothing after the end of a
run. During the check, another host agent takes over the arm and reads the agent CLI's record again.
If ` + "`[work]`" + ` in a harness.toml does not claim something, the check for it is skipped.

` + "`make many-turns`" + ` does the same for each agent CLI, with 100 turns in one conversation. The turns contain
simultaneous calls, denials, errors and malformed calls. CI runs 12 turns.

` + "`make users`" + ` lets two random users work on one arm of each agent CLI. They give verbs in a random order, do
not wait for each other, and also kill serve and the host agent. Afterwards, a test compares the exit code and the
words of each command line with the model's record and with the files. ` + "`make test`" + ` does this with 10
command lines of each user.
`

// settingsText is the part of the page about the settings of users.
const settingsText = `
## With the settings that users have

The built-in harnesses list settings that change what their agent CLI shows, or which keys it takes.
` + "`coleo harness test NAME --settings all`" + ` tests each one with the checks below.
` + "`--settings vim,no-motion`" + ` picks some of them. A setting that Coleo refuses has one check: the start
must be refused, with the reason. If a session never becomes idle, nothing else is run in it.

CI runs one setting of each kind that was once read wrongly (` + "`-settings`" + ` of
TestHarnessesWorkWithUsersSettings). ` + "`make settings`" + ` runs all of them, and writes
[compatibility.md](compatibility.md).

| check | what is required |
|---|---|
`

// asksText is the part of the page about the catalogues of dialogs.
const asksText = `
## What the agent CLI asks

Each built-in harness has a catalogue of what makes its agent CLI ask: tools, and ways to start the
agent CLI. ` + "`coleo harness test NAME --asks all`" + ` opens each dialog of the catalogue, and answers the
dialog in each way. ` + "`--asks bash,question`" + ` picks some lines of the catalogue. Each line is one check
with these requirements:

- The state is ` + "`waiting_approval`" + `, with a dialog of the right kind. The dialog shows its options and
  what it is about. Nothing was done before the answer.
- After a denial, nothing is done. The agent CLI is idle again, and answers the next prompt.
- After an approval, the action is done exactly once. Then the agent CLI is idle.
- In a question, each option is picked once. If several options can be ticked, all of them are picked
  too. If the user can give a text, a text is given. If the model has asked, it gets exactly that answer.
- Some answers go to nobody: those to a dialog at the start, to a dialog that a typed command opens, and
  to a dialog that a prompt opens if the line has no result. Then the agent CLI must take the next
  prompt and answer it.
- If Coleo cannot give an answer, it refuses the answer with the error that the catalogue names, and
  types nothing.

The evidence of what was done is in the files, in the results that reached the model, and in the
calls that an MCP server received. CI runs the kinds of dialog that were once read wrongly (` + "`-asks`" + `
of TestHarnessesAnswerWhatTheirAgentCLIAsks). ` + "`make asks`" + ` runs all of them, and writes
[compatibility.md](compatibility.md). Two more checks are run with the whole catalogue. So if a new
version has a new tool, a check fails with the tool's name:

`

func TestTheChecksAreDocumented(t *testing.T) {
	if *update {
		if err := os.WriteFile(checksPage, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(checksPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != page() {
		t.Errorf("%s is not what the checks say: make it anew with -update", checksPage)
	}
}

func TestChecksHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if c.Name == "" || c.Doc == "" || c.Run == nil || c.Timeout <= 0 || seen[c.Name] ||
			(c.Needs == nil && c.Reports == nil) != (c.Skip == "") {
			t.Errorf("check %+v is incomplete, or its name is taken", c)
		}
		seen[c.Name] = true
	}
}
