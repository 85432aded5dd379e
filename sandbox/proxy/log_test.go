package proxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// On a full disk, the log may be unable to begin a new file after it has renamed the old one. It must begin
// one as soon as that is possible.
func TestALogGoesOnAfterItCouldNotBeginAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "network.jsonl")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Add(Entry{Decision: Allowed, Host: "first.example", Reason: strings.Repeat("x", maxLog/2)})
	if err := os.Rename(path, path+".1"); err != nil { // so far the log gets when the new file cannot be made
		t.Fatal(err)
	}
	l.Add(Entry{Decision: Refused, Host: "second.example"})
	l.Add(Entry{Decision: Refused, Host: "third.example"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	old, oldErr := os.ReadFile(path + ".1")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "second.example") ||
		!strings.Contains(string(text), "third.example") {
		t.Errorf("the newest entries are missing: %q, %v", text, err)
	}
	if oldErr != nil || !strings.Contains(string(old), "first.example") {
		t.Errorf("the older file is lost: %v", oldErr)
	}
}
