package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/pty"
	"coleo.dev/waitfor"
)

// People pass recordings on, so a recording must not contain any folder of this machine.
func TestARecordingShowsNoFolderOfTheMachine(t *testing.T) {
	t.Parallel()
	c := fakeConfig(t)
	c.Record = t.TempDir()
	trial, err := newTrial(fakeHarness(t), c, "one")
	if err != nil {
		t.Fatal(err)
	}
	trial.begin("here")
	err = trial.spawnIdle(t.Context(), nil)
	if err == nil {
		prompt := "say " + trial.Workdir[:min(len(trial.Workdir), 60)] // short enough for one row
		_, err = trial.Session.SendPrompt(t.Context(), coleo.Prompt{Text: prompt})
	}
	if err == nil {
		_, err = waitfor.Idle(t.Context(), trial.Session)
	}
	if closeErr := trial.close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	raw, err := os.ReadFile(filepath.Join(c.Record, "one.cast"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); strings.Contains(text, c.Dir) || !strings.Contains(text, "say /coleo-coleo-") {
		t.Errorf("the recording is\n%s\nwant %s covered", text, c.Dir)
	}
	cast, err := pty.ReadCast(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var marks []string
	for _, e := range cast.Events {
		if e.Kind == pty.CastMark {
			marks = append(marks, e.Data)
		}
	}
	if !slices.Equal(marks, []string{"here", "end"}) {
		t.Errorf("markers %q, want the check's beginning and the end", marks)
	}
}

// A run of checks uses several sessions: the shared one, the one after a failure, and those that a single
// check starts. Each of them must have its own recording.
func TestEachSessionHasARecording(t *testing.T) {
	t.Parallel()
	c := fakeConfig(t)
	c.Record = t.TempDir()
	checks := pick([]string{"spawn_and_idle", "simple_prompt", "file_creation", "liar", "resume_after_kill"})
	h := fakeHarness(t, word("hasty")...) // this fake writes files without asking
	if report, err := Run(t.Context(), h, c, checks); err != nil || report.Compatible {
		t.Fatalf("Run = %+v, %v, want one failure", report, err)
	}
	entries, err := os.ReadDir(c.Record)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := strings.Fields("resume_after_kill-2.cast resume_after_kill-2.jsonl resume_after_kill.cast " +
		"resume_after_kill.jsonl shared-2.cast shared-2.jsonl shared.cast shared.jsonl spawn_and_idle.cast " +
		"spawn_and_idle.jsonl")
	if !slices.Equal(got, want) {
		t.Errorf("recordings %q, want %q", got, want)
	}
}

func TestWhatARecordingHides(t *testing.T) {
	t.Parallel()
	c := Config{Dir: "/t/x", Binary: "agent", Path: []string{"/home/somebody/bin", "", "bin"},
		Environ: []string{"HOME=/home/somebody", "PATH=/x"}}
	if got, want := c.hiddenPaths(), []string{"/home/somebody/bin", "/home/somebody", "/t/x"}; !slices.Equal(got, want) {
		t.Errorf("hidden = %q, want %q", got, want)
	}
}
