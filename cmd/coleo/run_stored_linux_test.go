package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"coleo.dev"
)

// TestR5WhatAFollowerHasSeenIsStored kills serve and the host agent while a program follows events.
// The log must then contain every event that the follower received, with the same cursor.
func TestR5WhatAFollowerHasSeenIsStored(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const rounds = 4
	seen := map[string]string{} // the received events by cursor
	for round := range rounds {
		follower := f.command("run", "events", "--follow", "--json", "--from", "0")
		out := &lines{}
		follower.Stdout = out
		f.check(follower.Start())
		prompt := f.command("arm", "prompt", f.name, "slow word word word word word word")
		f.check(prompt.Start())
		more := len(seen) + 1 + round // each round stops after a different event
		until(t, "the follower gets more events", func() bool { return strings.Count(out.text(), "\n") > more })
		for _, verb := range []string{"agent", "serve"} {
			f.kill9(f.onlyProcess(verb))
		}
		finish(prompt, follower)
		keep(t, seen, out.text())
		f.must("up")
		f.wait(f.name, coleo.Idle)
	}
	stored := map[string]string{}
	keep(t, stored, f.must("--json", "run", "events"))
	for cursor, e := range seen {
		if stored[cursor] != e {
			t.Errorf("the follower got the event\n%s\nand the log has\n%s", e, stored[cursor])
		}
	}
}

// finish kills the given programs and waits until they have ended.
func finish(list ...*exec.Cmd) {
	for _, cmd := range list {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// keep parses each complete line of `text` as an event, and adds the line to `events` by the
// event's cursor.
func keep(t *testing.T, events map[string]string, text string) {
	t.Helper()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var e struct {
			Cursor string
			coleo.Event
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Cursor == "" {
			t.Fatalf("the line %q is no event: %v", line, err)
		}
		events[e.Cursor] = line
	}
}
