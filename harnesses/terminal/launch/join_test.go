package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
)

func TestAnOptionThatCountsOnceHoldsWhatAllHadGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.json"),
		[]byte(`{"hooks":{"Stop":["mine"],"Start":[1]},"n":12345678901234567890}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const ours = `{"hooks":{"Stop":["ours"]},"n":1}`
	const both = `{"hooks":{"Start":[1],"Stop":["ours","mine"]},"n":12345678901234567890}`
	for what, tt := range map[string]struct{ argv, want []string }{
		"nobody gives it": {[]string{"x", "-p"}, []string{"x", "-p"}},
		"one gives it":    {[]string{"x", "--set", " any "}, []string{"x", "--set", " any "}},
		"a file of the user's": {[]string{"x", "--set", ours, "-p", "--set", "mine.json", "y"},
			[]string{"x", "--set", both, "-p", "y"}},
		"written in one word": {[]string{"--set=" + ours, "--set=" + filepath.Join(dir, "mine.json")},
			[]string{"--set", both}},
		"three give it":        {[]string{"--set", "{}", "--set", ours, "--set", "mine.json"}, []string{"--set", both}},
		"one of a longer name": {[]string{"--set", ours, "--settle", "1"}, []string{"--set", ours, "--settle", "1"}},
		"a value of another kind": {[]string{"--set", `{"a":[1]}`, "--set", `{"a":{"b":2}}`},
			[]string{"--set", `{"a":{"b":2}}`}},
	} {
		got, err := joinOption(tt.argv, "--set", dir)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q (%v), want %q", what, got, err, tt.want)
		}
	}
	for what, value := range map[string]string{"no file": "nowhere.json", "no JSON": "{",
		"no object": filepath.Join(dir, "list")} {
		_, err := joinOption([]string{"--set", ours, "--set", value}, "--set", dir)
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "--set is given twice") {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
}

// The file of settings can be in the work folder. A program in a sandbox can replace it by a pipe. The start
// must not wait for that pipe.
func TestAStartWaitsForNoSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "mine.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := joinOption([]string{"--set", "{}", "--set", "mine.json"}, "--set", dir)
		done <- err
	}()
	select {
	case err := <-done:
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("a pipe: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits at the pipe")
	}
}
