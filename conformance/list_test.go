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
A harness is compatible if no check that must pass fails. A check is skipped if the
harness does not claim the ability. If the harness claims the ability and the check fails,
that is a failure. A shared session is replaced after a failure.

The terminals are 120 columns wide and 40 rows high. What an agent CLI shows depends on
that size. ` + "`--size 80x24`" + ` sets another one.
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
## What the events tell

The checks ` + "`tool_events`, `text_blocks` and `subagent_events`" + ` start an arm with a host agent, and
compare the events in its log with the model server's record. Each call has its id, its
outcome, one start and one end, in the run of its prompt. Each text is told once, whole and in
order. Nothing is told that the model has not done, and nothing behind the end of a run. In
between, another host agent takes the arm and reads the agent CLI's record again. What
` + "`[work]`" + ` in a harness.toml does not claim is skipped.

` + "`make told`" + ` does the same with 100 turns of each agent CLI in one conversation: calls at the same
time, denials, errors and malformed calls. CI does it with 12 turns.
`

// settingsText is the part of the page about the settings of users.
const settingsText = `
## With the settings that users have

The built-in harnesses list settings that change what their agent CLI shows, or which keys
it takes. ` + "`coleo harness test NAME --settings all`" + ` tests each one with the checks below.
` + "`--settings vim,no-motion`" + ` picks some. A setting that Coleo refuses has one check: the start
must be refused, with the reason. Nothing else is run in a session that never becomes idle.

CI runs one setting of each kind that was once read wrongly (` + "`-settings`" + ` of
TestHarnessesWorkWithUsersSettings). ` + "`make settings`" + ` runs all of them, and writes
[compatibility.md](compatibility.md).

| check | what is required |
|---|---|
`

// asksText is the part of the page about the catalogues of dialogs.
const asksText = `
## What the agent CLI asks

The built-in harnesses have a catalogue of what makes their agent CLI ask: its tools, and ways
to start it. ` + "`coleo harness test NAME --asks all`" + ` brings about each dialog of the catalogue,
and answers it in each way. ` + "`--asks bash,question`" + ` picks some lines. Each line is one check:

- The state is ` + "`waiting_approval`" + ` with a dialog of the right kind, with its options and what it
  is about. Nothing was done before the answer.
- Denied, nothing is done. The agent CLI is idle again, and answers the next prompt.
- Approved, it is done exactly once. Then the agent CLI is idle.
- Of a question, each option is picked once, several where several can be ticked, and a text
  of the user's own where one can be given. The model gets exactly that.
- What Coleo cannot answer is refused with its sentence, and nothing is typed.

What was done is seen in the files, in the results that reached the model, and in what an MCP
server was called with. CI runs the kinds of dialog that were once read wrongly (` + "`-asks`" + ` of
TestHarnessesAnswerWhatTheirAgentCLIAsks). ` + "`make asks`" + ` runs all of them, and writes
[compatibility.md](compatibility.md). Two more checks are run with the whole catalogue, so a
new version with a new tool fails with the tool's name:

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
			(c.Needs == nil && c.Tells == nil) != (c.Skip == "") {
			t.Errorf("check %+v is incomplete, or its name is taken", c)
		}
		seen[c.Name] = true
	}
}
