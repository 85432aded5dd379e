package verb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
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
