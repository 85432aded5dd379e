package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/harnesses/terminal/casttest"
)

// calibrationFolder makes a folder with labelled recordings of a real agent CLI.
func calibrationFolder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	labels := "# labels\n"
	for _, name := range names {
		folder, file, _ := strings.Cut(name, "/")
		labels += file + ": " + casttest.Labels(t, folder)[file] + "\n"
		if err := os.WriteFile(filepath.Join(dir, file+".cast"), casttest.Bytes(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.txt"), []byte(labels), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAHarnessIsCalibrated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := calibrationFolder(t, "codex-0.169.0/bash-approve", "codex-0.169.0/idle")
	if out := w.must("harness", "calibrate", "codex", "--recordings", dir); !strings.Contains(out, "2 of 2 recordings") {
		t.Errorf("calibrate = %s, want that both hold", out)
	}
	_, text := casttest.Description(t, "codex-0.169.0")
	const anchor = `{ where = "screen", pattern = '(?m)^ *Would you like to run the following\s+command\?$' }`
	broken := strings.Replace(string(text), anchor, strings.Replace(anchor, "Would", "Will", 1), 1)
	w.write("config/harnesses/codex.toml", broken)
	proposed := w.path("proposed.toml")
	out := w.must("harness", "calibrate", "codex", "--recordings", dir,
		"--old", calibrationFolder(t, "codex-0.169.0/stream"), "--write", proposed)
	for _, want := range []string{"1 of 2 recordings", "bash-approve, from ", "Would you like to run", "+  " + anchor,
		"none of 1 earlier ones reads worse", proposed} {
		if !strings.Contains(out, want) {
			t.Errorf("calibrate printed\n%s\nwant %q in it", out, want)
		}
	}
	if got, err := os.ReadFile(proposed); err != nil || string(got) != string(text) {
		t.Errorf("the proposed file differs from the description without the break: %v", err)
	}
	if r := w.run("harness", "calibrate", "codex", "--recordings", dir, "--write", proposed); r.code == 0 ||
		!strings.Contains(r.err, "not written") {
		t.Errorf("%v\nwant that an existing file is not overwritten", r)
	}
}

func TestBadRecordingsAreNotCalibrated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := calibrationFolder(t, "codex-0.169.0/idle")
	empty := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"name a folder", nil},
		{"name a folder", []string{"--recordings", empty, "--record", filepath.Join(empty, "new")}},
		{"read the labels", []string{"--recordings", empty}},
		{"has no recording", []string{"--recordings", empty, "--labels", filepath.Join(dir, "labels.txt")}},
		{"--slack", []string{"--recordings", dir, "--slack", "-1"}},
	} {
		r := w.run(append([]string{"harness", "calibrate", "codex"}, c.args...)...)
		if r.code == 0 || !strings.Contains(r.err, c.want) {
			t.Errorf("%v\nwant %q", r, c.want)
		}
	}
}
