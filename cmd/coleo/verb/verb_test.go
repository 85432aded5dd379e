package verb

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// The answer of a model goes to a user's terminal as text that the terminal does not obey. A program that reads a
// file or a pipe gets it unchanged.
func TestATerminalObeysNothingInAnAnswer(t *testing.T) {
	t.Parallel()
	const answer = "one\x1b]52;c;eA==\a\u009b2J\n\ttwo\u202e 👩\u200d🔬\r\n"
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got := textFor(file, answer); got != answer {
		t.Errorf("a file gets %q", got)
	}
	if got := textFor(&bytes.Buffer{}, answer); got != answer {
		t.Errorf("a buffer gets %q", got)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here")
	}
	defer terminal.Close()
	if got, want := textFor(terminal, answer), "one]52;c;eA==2J\n\ttwo 👩🔬\n"; got != want {
		t.Errorf("a terminal gets %q, want %q", got, want)
	}
}

// JSON escapes only some control characters by itself. A terminal also obeys U+009B, and a byte that is not UTF-8.
func TestATerminalObeysNothingInJSON(t *testing.T) {
	t.Parallel()
	const answer = "one\x1b]52;c;eA==\a\u009b2J\x7f\n\ttwo\u202e 👩\u200d🔬 ü"
	var out bytes.Buffer
	raw := json.RawMessage("{\"b\":\"\u009b2J\x9b\"}")
	if err := JSON(&out).Encode(map[string]any{"a": answer, "raw": raw}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\u009b\x7f\u202e") || !utf8.Valid(out.Bytes()) ||
		!strings.Contains(out.String(), "👩\u200d🔬 ü") {
		t.Errorf("it prints %q", out.String())
	}
	var got struct{ A string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.A != answer {
		t.Errorf("a program reads %q, %v; want %q", got.A, err, answer)
	}
}
