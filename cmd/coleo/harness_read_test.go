package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/harnesses/terminal/casttest"
)

// recordingFile unpacks a labelled recording of a real agent CLI.
func recordingFile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session") // no extension: coleo must recognize the format by the file's content
	if err := os.WriteFile(path, casttest.Bytes(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestARecordingIsReadReplayedAndExplained(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	path := recordingFile(t, "codex-0.169.0/bash-approve")
	got := decode[conformance.Moment](w, "harness", "read", "codex", path, "--at", "2.9")
	if got.State != coleo.WaitingApproval || got.Rule != "command" || got.Dialog == nil ||
		!strings.Contains(got.Dialog.Subject, "touch done.txt") || got.T != 2.9 {
		t.Errorf("read = %+v, want the dialog", got)
	}
	early := decode[conformance.Moment](w, "harness", "read", "codex", path, "--at", "2", "--witness", "screen")
	if early.Dialog != nil || early.State == coleo.Idle {
		t.Errorf("read = %+v, want no dialog yet, and not idle", early)
	}
	var states []string
	for line := range strings.Lines(w.must("harness", "replay", "codex", path, "--json")) {
		var m conformance.Moment
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if n := len(states); n == 0 || states[n-1] != string(m.State) {
			states = append(states, string(m.State))
		}
	}
	want := "initializing idle processing waiting_approval executing processing waiting_approval executing processing"
	if strings.Join(states, " ") != want {
		t.Errorf("replay = %q, want %q", states, want)
	}
	if out := w.must("harness", "explain", "codex", path, "--at", "2.9"); !strings.Contains(out,
		"osc7501  waiting_approval  blocked (permission)") || !strings.Contains(out, "Would you like to run") {
		t.Errorf("explain = %s", out)
	}
}

func TestAScreenIsReadLikeARecording(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	path := filepath.Join(t.TempDir(), "still")
	text := "# t=1s cursor=(2,1) buffer=normal title='x' bells=0\n────────────────────────\n❯ " +
		"\n────────────────────────\n  ? for shortcuts\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := decode[conformance.Moment](w, "harness", "read", "claude-code", path); got.State != coleo.Idle ||
		got.Rule != "composer" || !got.Known {
		t.Errorf("read = %+v, want idle", got)
	}
	if err := os.WriteFile(path, []byte("what is this\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := decode[conformance.Moment](w, "harness", "read", "claude-code", path); got.State == coleo.Idle ||
		got.Known {
		t.Errorf("read = %+v, want one that is not known", got)
	}
}

func TestWrongRecordingsAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	path := recordingFile(t, "codex-0.169.0/simple")
	for _, args := range [][]string{
		{"codex", "no-such-file"}, {"codex", t.TempDir()}, {"nope", path}, {"codex", path, "--at", "-1"},
		{"codex", path, "--at", "nan"}, {"codex", path, "--witness", "ghost"}, {"opencode-api", path},
	} {
		r := w.run(append([]string{"harness", "read"}, args...)...)
		if r.code == 0 || strings.Count(strings.TrimSpace(r.err), "\n") != 0 || r.err == "" {
			t.Errorf("%q: %v, want one line", args, r)
		}
	}
}
