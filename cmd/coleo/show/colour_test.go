package show

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestColoursAreForTerminalsAlone(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if showsColours(file, "", "xterm") || showsColours(&bytes.Buffer{}, "", "xterm") {
		t.Error("a file or a buffer counts as a terminal")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here")
	}
	defer terminal.Close()
	for _, tt := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm-256color", true}, {"", "", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		if got := showsColours(terminal, tt.noColor, tt.term); got != tt.want {
			t.Errorf("NO_COLOR=%q TERM=%q: colours %v, want %v", tt.noColor, tt.term, got, tt.want)
		}
	}
}
