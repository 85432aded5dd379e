// Package recordtest checks that a Decoder decodes a recording correctly. A recording
// is an agent CLI's record that is kept for tests.
package recordtest

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"coleo.dev/record"
)

// Turn is one turn of a recorded conversation.
type Turn struct {
	Prompt string
	Ending record.Ending // the last ending of the turn in the record; "" if there is none
	Answer string        // beginning of the last answer; "" if there is no answer
}

// Check decodes the recording at path with the Decoder d, and compares its turns with the wanted
// turns. The recordings are from conversations with the scripted model. A text in a recording is
// shortened if it has more than 160 characters, or if the agent CLI sent it to the model.
func Check(t *testing.T, d record.Decoder, path string, want []Turn) {
	t.Helper()
	CheckEntries(t, path, Entries(t, d, path), want)
}

// CheckEntries compares the turns in the entries with the wanted turns. The path names the
// recording in messages.
func CheckEntries(t *testing.T, path string, entries []record.Entry, wanted []Turn) {
	t.Helper()
	got := turnsOf(entries)
	if len(got) != len(wanted) {
		t.Fatalf("%s has %d turns %+v, want %d", path, len(got), got, len(wanted))
	}
	for i, w := range wanted {
		g := got[i]
		if g.Prompt != w.Prompt || g.Ending != w.Ending || !strings.HasPrefix(g.Answer, w.Answer) ||
			w.Answer == "" && g.Answer != "" {
			t.Errorf("turn %d of %s is %+v, want %+v", i+1, path, g, w)
		}
	}
}

func turnsOf(entries []record.Entry) []Turn {
	var out []Turn
	for _, e := range entries {
		if e.Kind == record.Prompt {
			out = append(out, Turn{Prompt: e.Text})
			continue
		}
		if len(out) == 0 {
			continue
		}
		switch last := &out[len(out)-1]; e.Kind {
		case record.Answer:
			last.Answer = e.Text
		case record.End:
			last.Ending = e.Ending
		case record.Prompt, record.Queued, record.Tool, record.Ready, record.Detail:
		}
	}
	return out
}

// Entries returns the entries that d decodes from the recording at path.
func Entries(t *testing.T, d record.Decoder, path string) []record.Entry {
	t.Helper()
	raw, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Entry
	for line := range strings.Lines(string(raw)) {
		out = append(out, d.Decode([]byte(strings.TrimSuffix(line, "\n")))...)
	}
	return out
}

// Read returns the lines of the recording at path.
func Read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
