package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/wire"
)

func TestTheLastAnswerIsPrinted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(4, "arm", "last", f.name); e.Code != coleo.ENotFound ||
		!strings.Contains(e.Message, "has ended yet") {
		t.Errorf("the last answer before the first: %+v", e)
	}
	f.checkAnswer("first")
	f.checkAnswer("second")
	if out := f.must("arm", "last", f.name); out != "second\n" {
		t.Errorf("arm last printed %q", out)
	}
	if last := decode[wire.LastRun](f.world, "arm", "last", f.name); last.Answer != "second" || last.Run == "" ||
		last.Status != coleo.Idle {
		t.Errorf("arm last --json = %+v", last)
	}
	f.must("arm", "kill", f.name)
	if out := f.must("arm", "last", f.name); out != "second\n" {
		t.Errorf("of a killed arm arm last printed %q", out)
	}
}

// The answer of a shell must be its output in whole lines, without the shell's prompt.
func TestTheAnswerOfAShellIsWhatItPrinted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.path("work-sh")
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", "sh", "-w", dir, "--harness", "generic")
	long := strings.Repeat("x", 300)
	for prompt, want := range map[string]string{
		"echo sum $((40+2))":                      "sum 42",
		"printf '%s\\n' one two three":            "one\ntwo\nthree",
		"printf 'x%.0s' $(seq 300); echo":         long,
		"printf '\\033[31mred\\033[0m\\n'; false": "red",
		"true": "",
		"echo " + strings.Repeat("y", 109) + " | wc -c":  "110", // with the shell's prompt, the line fills all 120 columns
		"echo " + strings.Repeat("y", 250) + " | wc -c":  "251",
		"echo " + strings.Repeat("y", 3000) + " | wc -c": "3001",
		"seq 1 60 | tr '\\n' ,; echo":                    strings.Join(numbers(60), ",") + ",",
	} {
		w.must("arm", "prompt", "sh", "--wait", prompt)
		if out := w.must("arm", "last", "sh"); strings.TrimSuffix(out, "\n") != want {
			t.Errorf("%s printed %q, want %q", prompt, out, want)
		}
	}
	w.must("arm", "prompt", "sh", "--wait", "seq 1 500")
	if out := w.must("arm", "last", "sh"); out != strings.Join(numbers(500), "\n")+"\n" {
		t.Errorf("500 lines are %d", strings.Count(out, "\n"))
	}
}

func numbers(n int) []string {
	var out []string
	for i := range n {
		out = append(out, strconv.Itoa(i+1))
	}
	return out
}
