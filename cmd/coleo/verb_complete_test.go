package main

import (
	"io"
	"strings"
	"testing"

	"coleo.dev/pty/device"
)

func TestAShellIsOfferedNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, name := range []string{"arm-2", "arm-10"} {
		w.spawnFake(name)
	}
	w.template("say", sayTemplate)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"arm spawn --template s", []string{"say"}},
		{"template show s", []string{"say"}},
		{"arm status ", []string{"arm-2", "arm-10"}},
		{"arm status arm-1", []string{"arm-10"}},
		{"arm prompt arm-2 ", nil},
		{"arm kill arm", []string{"arm-2", "arm-10"}},
		{"arm list --state ne", []string{"needs-you"}},
		{"arm list --state waiting", []string{"waiting_approval"}},
		{"arm spawn --harness fa", []string{"fake"}},
		{"run list arm-1", []string{"arm-10"}},
		{"run events --arm arm-1", []string{"arm-10"}},
		{"run events --kind tool_call", []string{"tool_call_end", "tool_call_start"}},
		{"run list --outcome f", []string{"finished", "failed"}},
		{"harness test clau", []string{"claude-code"}},
	} {
		w.offers(c.line, c.want...)
	}
	w.must("down")
	if out := w.must("__complete", "arm", "status", ""); !strings.HasPrefix(out, ":") {
		t.Errorf("without serve a shell is offered %q", out)
	}
	w.must("up")
}

// offers checks the completions that a shell offers after the given line.
func (w *world) offers(line string, want ...string) {
	w.t.Helper()
	out := w.must(append([]string{"__complete"}, strings.Split(line, " ")...)...)
	var got []string
	for line := range strings.Lines(out) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, ":") {
			got = append(got, word)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		w.t.Errorf("coleo %s<TAB> offers %q, want %q", line, got, want)
	}
}

func TestANameThatIsNearlyRightIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"arm", "status", "onee"}, 4, `no arm called "onee"; did you mean one?`},
		{[]string{"arm", "kill", "on"}, 4, "did you mean one?"},
		{[]string{"arm", "status", "elsewhere"}, 4, `no arm called "elsewhere"`},
		{[]string{"arm", "statsu", "one"}, 2, "did you mean status?"},
		{[]string{"arn", "list"}, 2, "did you mean arm?"},
		{[]string{"arm", "status"}, 2, "takes the name of an arm"},
	} {
		r := f.run(c.args...)
		if r.code != c.code || !strings.Contains(r.err, c.want) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%v\nwant exit %d and %q in one line", r, c.code, c.want)
		}
		if strings.Contains(r.err, "did you mean") != strings.Contains(c.want, "did you mean") {
			t.Errorf("%v\nwant %q", r, c.want)
		}
	}
}

func TestStatusOffersTheArmsOnATerminal(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	term, err := device.Start(device.Command{Path: f.path("bin/coleo"), Args: []string{"arm", "status"}, Env: f.env,
		Dir: f.dir, Cols: 100, Rows: 40})
	f.check(err)
	defer term.Close()
	if _, err := term.Write([]byte("1\n")); err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(term) // when the program ends, a read from its terminal returns an error
	state, err := term.Wait()
	if err != nil || state.ExitCode() != 0 || !strings.Contains(string(out), "which arm?") ||
		!strings.Contains(string(out), "(idle)") || !strings.Contains(string(out), "Process:") {
		t.Errorf("status on a terminal: %v, %v\n%s", state, err, out)
	}
}
