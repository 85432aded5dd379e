package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal"
)

// TestALongLineOfTheLogHidesNoConversation: OpenCode logs whole requests and answers in very long
// lines. The conversations in the lines between them must still be found.
func TestALongLineOfTheLogHidesNoConversation(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Workdir: "/w", Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	dir := filepath.Join(f.Home, ".local", "share", "opencode", "log")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(second, id string) string {
		return "timestamp=2026-01-01T00:00:" + second + "Z level=INFO message=created id=" + id +
			" slug=x directory=/w path= parentID=undefined \n"
	}
	for name, long := range map[string]string{
		"none":                 "",
		"of one buffer":        strings.Repeat("x", maxLine) + "\n",
		"of many buffers":      strings.Repeat("x", 40*maxLine+7) + "\n",
		"that looks like ours": strings.Repeat("x", maxLine-1) + line("09", "ses_none"),
	} {
		// the last line is still being written
		text := line("01", "ses_1") + long + line("02", "ses_2") + strings.Repeat("y", 3*maxLine)
		if err := os.WriteFile(filepath.Join(dir, "a.log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := conversation(f, "opencode"); err != nil || id != "ses_2" {
			t.Errorf("with a long line %s: the conversation is %q, %v", name, id, err)
		}
	}
}

// The path of the work folder can lead through a symbolic link. OpenCode's log then names the folder's real path.
func TestTheConversationOfAFolderBehindALinkIsFound(t *testing.T) {
	t.Parallel()
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	f := terminal.Facts{Home: t.TempDir(), Workdir: link}
	dir := filepath.Join(f.Home, ".local", "share", "opencode", "log")
	line := "timestamp=2026-01-01T00:00:01Z level=INFO message=created id=ses_1 slug=x directory=" + real +
		" path= parentID=undefined \n"
	for _, err := range []error{os.Symlink(real, link), os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "a.log"), []byte(line), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if id, err := conversation(f, "opencode"); err != nil || id != "ses_1" {
		t.Errorf("the conversation is %q, %v", id, err)
	}
}
