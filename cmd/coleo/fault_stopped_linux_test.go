package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
)

// TestAStoppedServeIsNamed: while a signal has stopped serve, each verb must fail at once with an
// error that names serve's process. When serve continues, it must not carry out an order that came
// meanwhile.
func TestAStoppedServeIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checkAnswer("first")
	serve := f.onlyProcess("serve")
	client, err := f.client() // this client does not notice that serve is stopped, so it sends its orders
	f.check(err)
	wait := f.command("arm", "prompt", f.name, "--wait", "pause 60s")
	var errs bytes.Buffer
	wait.Stderr = &errs
	f.check(wait.Start())
	f.wait(f.name, coleo.Processing)
	f.must("arm", "prompt", f.name, "say queued") // by then the wait has begun
	f.stops(serve)
	defer func() { _ = syscall.Kill(serve, syscall.SIGCONT) }() // otherwise serve could not be ended after the test
	named := fmt.Sprintf("serve (process %d) is stopped: 'kill -CONT %d' continues it", serve, serve)
	if err := wait.Wait(); wait.ProcessState.ExitCode() != 8 || !strings.Contains(errs.String(), named) {
		t.Errorf("prompt --wait ended with %v and says %s", err, errs.String())
	}
	for _, args := range [][]string{
		{"arm", "list"}, {"arm", "status", f.name}, {"arm", "kill", f.name}, {"arm", "wait", f.name}, {"arm", "prompt",
			f.name, "say never"},
		{"arm", "watch", f.name}, {"agent", "status"}, {"web", "list"}, {"--json", "audit"}, {"up", "--json"}, {"down",
			"--arms"}, {"arm", "spawn", "-n", "two"}, {"models", "list"},
	} {
		if e := f.fails(8, args...); !strings.Contains(e.Message, named) {
			t.Errorf("coleo %v says %q", args, e.Message)
		} else if args[1] == "prompt" && (e.Delivered == nil || *e.Delivered) {
			t.Errorf("a prompt that was not sent: %+v, want that it was not delivered", e)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.Prompt(short, f.name, coleo.Prompt{Text: "say late"},
		""); coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("a prompt to a serve that is stopped: %v", err)
	}
	bounded, leave := context.WithTimeout(t.Context(), time.Second)
	defer leave()
	if _, err := client.Interrupt(bounded, f.name); coleo.ErrorCode(err) != coleo.ETimeout ||
		!strings.Contains(err.Error(), "not known") {
		t.Errorf("an interrupt that serve does not answer: %v", err)
	}
	f.check(syscall.Kill(serve, syscall.SIGCONT))
	if now := f.arm(f.name); now.State != coleo.Processing {
		t.Errorf("the arm is %s, want processing: nobody waits for the interrupt any longer", now.State)
	}
	f.must("arm", "interrupt", f.name)
	f.wait(f.name, coleo.Idle)
	f.checkAnswer("second")
	if got := f.texts(fakeagent.Prompted); slices.Contains(got, "say late") || slices.Contains(got, "say never") {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}
