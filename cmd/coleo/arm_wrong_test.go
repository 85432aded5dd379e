package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

func TestWrongSpawnsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	absent := strings.NewReplacer(`name = "fake"`, `name = "absent"`, `command = "fakeagent"`,
		`command = "no-such-program"`).Replace(w.read("config/harnesses/fake.toml"))
	w.write("config/harnesses/absent.toml", absent)
	w.spawnFake("taken")
	dir := w.workdir("other", fakeagent.Script{})
	for name, c := range map[string]struct {
		args []string
		Exit int
		code coleo.Code
		want string
	}{
		"a harness that nobody knows": {[]string{"-n", "a", "--harness", "nope"}, 2, coleo.EInvalid,
			"Unknown harness: nope"},
		"a program that is not there": {[]string{"-n", "a", "--harness", "absent"}, 3, coleo.ENotInstalled,
			"install it with: go test ./cmd/coleo"},
		"a work folder that is not": {[]string{"-n", "a", "--harness", "fake", "-w", w.path("nowhere")}, 2,
			coleo.EInvalid, "work folder " + w.path("nowhere") + " does not exist"},
		"a name that is taken": {[]string{"-n", "taken", "--harness", "fake"}, 5, coleo.EConflict,
			"Arm taken already exists with status: idle"},
		"a name that is none": {[]string{"-n", "../up", "--harness", "fake"}, 2, coleo.EInvalid,
			`"../up" cannot name an arm`},
		"a terminal that nobody knows": {[]string{"-n", "a", "--harness", "fake", "-t", "xterm"}, 2, coleo.EInvalid,
			`"xterm" is not a terminal`},
		"a window in no terminal": {[]string{"-n", "a", "--harness", "fake", "--headless=false"}, 2, coleo.EInvalid,
			"coleo arm open"},
		"a window and none": {[]string{"-n", "a", "--harness", "fake", "--headless", "-t", "tmux"}, 2, coleo.EInvalid,
			"contradict each other"},
		"a permission mode it lacks": {[]string{"-n", "a", "--harness", "fake", "--permission-mode", "all",
			"--yes-without-sandbox"}, 2, coleo.EUnsupported, `no permission mode "all"`},
		"the mode all without a sandbox": {[]string{"-n", "a", "--harness", "fake", "--permission-mode", "all"}, 2,
			coleo.EInvalid, "add --sandbox bwrap, or --yes-without-sandbox"},
		"a budget that it cannot keep": {[]string{"-n", "a", "--harness", "fake", "--budget", "2.50"}, 2,
			coleo.EUnsupported,
			"nothing was started: the budget cannot be enforced: the harness fake does not report its usage"},
		"a budget that is none": {[]string{"-n", "a", "--harness", "fake", "--budget", "much"}, 2, coleo.EInvalid,
			`the budget "much" is not an amount`},
		"a budget with a policy that is none": {[]string{"-n", "a", "--harness", "fake", "--budget", "1", "--budget-policy",
			"cry"}, 2, coleo.EInvalid, `the policy "cry"`},
		"a policy of no budget": {[]string{"-n", "a", "--harness", "fake", "--budget-policy", "warn"}, 2, coleo.EInvalid,
			"--budget-policy needs --budget"},
		"an MCP server that it lacks": {[]string{"-n", "a", "--harness", "fake", "--mcp", "x=true"}, 2,
			coleo.EUnsupported, "does not support MCP servers"},
		"an MCP server that is no such": {[]string{"-n", "a", "--harness", "fake", "--mcp", "x"}, 2, coleo.EInvalid,
			"write NAME=COMMAND"},
		"a hermetic spawn without HOME": {[]string{"-n", "a", "--harness", "fake", "--profile", "hermetic"}, 2,
			coleo.EInvalid, "needs a HOME of its own"},
		"a flag that is none":      {[]string{"--nope"}, 2, coleo.EInvalid, "unknown flag: --nope"},
		"an argument that is none": {[]string{"a"}, 2, coleo.EInvalid, "takes no arguments"},
		"a profile that is none": {[]string{"-n", "a", "--harness", "fake", "--profile", "nope"}, 2, coleo.EInvalid,
			"profile"},
		"a permission mode that is none": {[]string{"-n", "a", "--harness", "fake", "--permission-mode", "nope"}, 2,
			coleo.EInvalid, "ermission"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"arm", "spawn", "-w", dir}, c.args...)
			e := w.fails(c.Exit, args...)
			if e.Code != c.code || !strings.Contains(e.Message, c.want) {
				t.Errorf("%v: %+v, want %s with %q", c.args, e, c.code, c.want)
			}
			r := w.run(args...)
			if lines := strings.Count(r.err, "\n"); r.code != c.Exit || lines != 1 || r.out != "" {
				t.Errorf("%v\nwant exit %d and one line", r, c.Exit)
			}
		})
	}
	if arms := decode[struct{ Arms []coleo.Arm }](w, "arm", "list", "--all").Arms; len(arms) != 1 {
		t.Errorf("after wrong spawns there are %d arms, want 1", len(arms))
	}
}

func TestAnAgentCLIThatEndsAtItsStartShowsItsLastScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{Start: []string{"say licence expired", "dialog go on", "exit 3"}})
	// The fake says "licence expired" and ends. Before that, it opens a dialog and waits for the
	// answer, so that its first screen has a state.
	w.must("arm", "spawn", "-n", "one", "-w", dir, "--harness", "fake")
	w.must("arm", "approve", "one")
	w.wait("one", coleo.Dead)

	broken := w.path("broken")
	w.check(os.Mkdir(broken, 0o700))
	w.check(os.WriteFile(broken+"/"+fakeScript, []byte("{"), 0o600))
	e := w.fails(13, "arm", "spawn", "-n", "two", "-w", broken, "--harness", "fake")
	if e.Code != coleo.EExited || e.Screen == nil ||
		!strings.Contains(strings.Join(e.Screen.Lines, ""), "unexpected EOF") {
		t.Errorf("spawn = %+v, want %s with its last screen", e, coleo.EExited)
	}
	if arm := w.arm("two"); arm.Status != coleo.StatusStopped {
		t.Errorf("the arm is %s, want %s", arm.Status, coleo.StatusStopped)
	}
	if r := w.run("arm", "spawn", "-n", "two", "-w", broken, "--harness", "fake"); r.code != 13 ||
		!strings.Contains(r.err, "  | fakeagent: script") {
		t.Errorf("%v\nwant exit 13 and the last screen", r)
	}
}

func TestTwoArmsInOneFolderAreWarnedOf(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	reply := decode[wire.SpawnReply](f.world, "arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake")
	if want := "arm one works in the same folder (" + f.workdir + ")"; reply.Warning != want {
		t.Errorf("warning %q, want %q", reply.Warning, want)
	}
	f.must("arm", "kill", "two")
	f.must("arm", "kill", "one")
	reply = decode[wire.SpawnReply](f.world, "arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake")
	if reply.Warning != "" {
		t.Errorf("with no other live arm the warning is %q", reply.Warning)
	}
}

func TestWithoutServeEveryVerbSaysHowToStartIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("f", "a line of a file\n")
	for _, args := range [][]string{
		{"arm", "list"}, {"arm", "status", "x"}, {"arm", "prompt", "x", "y"}, {"arm", "approve", "x"},
		{"arm", "kill", "x"}, {"arm", "wait", "x"}, {"arm", "recover", "x"}, {"arm", "screen", "x"},
		{"arm", "logs", "x"}, {"arm", "watch", "x"}, {"arm", "compact", "x"}, {"arm", "mode", "x"},
		{"arm", "model", "x"}, {"arm", "follow-up", "x", "hi"}, {"arm", "queue", "x"},
		{"arm", "steer", "x", "hi"}, {"arm", "abort", "x"}, {"arm", "pause", "x"},
		{"arm", "resume", "x"}, {"arm", "open", "x"}, {"agent", "status"}, {"run", "graph", "x"},
		{"why", w.path("f") + ":1"}, {"run", "list"}, {"run", "show", "x"}, {"run", "events", "x"},
		{"run", "events", "-f"}, {"arm", "handover", "x", "--to", "y"}, {"thread", "list"},
		{"thread", "search", "x"}, {"thread", "resume", "x"}, {"arm", "thread", "x"},
		{"arm", "diff", "x"}, {"arm", "merge", "x"}, {"arm", "checkpoint", "list", "x"},
		{"arm", "checkpoint", "restore", "x", "1"}, {"arm", "on-limit", "x"},
		{"arm", "on-limit", "x", "ask"}, {"arm", "budget", "x"}, {"arm", "budget", "x", "2.50"},
		{"schedule", "list"}, {"schedule", "show", "x"}, {"schedule", "remove", "x"},
		{"schedule", "run-now", "x"}, {"schedule", "history"}, {"webhook", "list"},
		{"webhook", "create", "x", "--template", "t"}, {"policy", "explain", "x"},
		{"policy", "grant", "x", "y"}, {"policy", "suggest"},
	} {
		if e := w.fails(8, args...); e.Code != coleo.EUnavailable || !strings.Contains(e.Message, "coleo up") {
			t.Errorf("%v: %+v, want %s and what to do", args, e, coleo.EUnavailable)
		}
	}
	if left := w.processes(); len(left) > 0 {
		t.Errorf("looking started %v", left)
	}
}

func TestABrokenHarnessFileIsToldWithItsLineAndLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("config/harnesses/odd.toml", "name = \"odd\"\ncommand = \"x\"\n\n[launch]\nnonsense = 1\n")
	r := w.run("harness", "list")
	if r.code != 0 || !strings.Contains(r.err, "odd.toml:5:1: unknown key") || !strings.Contains(r.out, "fake") {
		t.Errorf("%v\nwant the file, the line and the other harnesses", r)
	}
	w.spawnFake("one")
}
