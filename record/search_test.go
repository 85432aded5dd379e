package record

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// dated decodes lines of the form TIME TEXT. A line "folder PATH" names the work folder, and a line "subagent"
// marks the record of a subagent.
type dated struct{}

func (dated) Decode(line []byte) []Entry {
	at, text, _ := bytes.Cut(line, []byte(" "))
	when, err := time.Parse(time.RFC3339, string(at))
	if err != nil {
		return nil
	}
	return []Entry{{Kind: Prompt, Text: string(text), Time: when}}
}

func readTimedHeader(line []byte, h *Header) {
	switch word, rest, _ := bytes.Cut(line, []byte(" ")); string(word) {
	case "folder":
		h.Folder = string(rest)
	case "subagent":
		h.Hidden = HiddenSubagent
	}
}

func TestThePromptIsFoundInItsConversation(t *testing.T) {
	t.Parallel()
	home, sent := t.TempDir(), time.Now().Truncate(time.Second)
	now, before := sent.Add(time.Second).Format(time.RFC3339), sent.Add(-time.Hour).Format(time.RFC3339)
	for name, text := range map[string]string{
		"same":      "folder /work\n" + before + " other\n" + now + " hello\n",
		"old":       "folder /work\n" + before + " hello\n" + now + " other\n",
		"elsewhere": "folder /elsewhere\n" + now + " hello\n",
		"nowhere":   now + " hello\n",
		"child":     "folder /work\nsubagent\n" + now + " hello\n",
		"untimed":   "folder /work\nhello\n",
		"unwritten": "folder /work\n" + now + " hello",
		"stale":     "folder /work\n" + now + " hello\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name+".log"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(home, "stale.log"), sent, sent.Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	source := Source{Pattern: "{id}.log", Open: Lines(func() Decoder { return dated{} })}
	all := Conversations{Source: source, List: Files{Source: source, Decoder: func() Decoder { return dated{} },
		Line: readTimedHeader}}
	got, err := all.WithPrompt(t.Context(), Taken{Home: home, Folder: "/work", Since: sent,
		Is: func(text string) bool { return text == "hello" }})
	if want := []string{"same"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
	if got, err = (Conversations{Source: source}).WithPrompt(t.Context(), Taken{Home: home}); got != nil || err != nil {
		t.Errorf("without a list: %q, %v", got, err)
	}
}

// The path of the work folder can lead through a symbolic link. The agent CLI records the folder's real path.
func TestThePromptIsFoundInAFolderBehindALink(t *testing.T) {
	t.Parallel()
	home, real, sent := t.TempDir(), t.TempDir(), time.Now().Truncate(time.Second)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	text := "folder " + real + "\n" + sent.Add(time.Second).Format(time.RFC3339) + " hello\n"
	if err := os.WriteFile(filepath.Join(home, "one.log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source := Source{Pattern: "{id}.log", Open: Lines(func() Decoder { return dated{} })}
	all := Conversations{Source: source, List: Files{Source: source, Decoder: func() Decoder { return dated{} },
		Line: readTimedHeader}}
	got, err := all.WithPrompt(t.Context(), Taken{Home: home, Folder: link, Since: sent,
		Is: func(text string) bool { return text == "hello" }})
	if want := []string{"one"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
}
