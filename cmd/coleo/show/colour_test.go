package show

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

// An arm chooses texts that lists show, such as the names of its folders. A terminal must obey nothing in them, and
// Coleo's own colours must stay.
func TestATerminalObeysOnlyColeosColours(t *testing.T) {
	t.Parallel()
	text := Red.Paint("needs you") + "  a\x1b]52;c;eA==\x07b\u009b2Jc\u202ed\U000e0041e\n"
	if got, want := Clean(text), Red.Paint("needs you")+"  a]52;c;eA==b2Jcde\n"; got != want {
		t.Errorf("a terminal gets %q, want %q", got, want)
	}
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	if _, err := io.WriteString(Writer(c), text); err != nil || strings.ContainsAny(out.String(), "\x1b\a\u009b\u202e") {
		t.Errorf("a file gets %q, %v", out.String(), err)
	}
}
