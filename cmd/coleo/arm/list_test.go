package arm

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/show"
)

func TestTablesStayInLineWithAndWithoutColours(t *testing.T) {
	t.Parallel()
	arms := []coleo.Arm{
		{Name: "a", Harness: "fake", State: coleo.Idle, Status: coleo.StatusIdle, Workdir: "/w"},
		{Name: "longer", Harness: "fake", State: coleo.Processing, Status: coleo.StatusBusy, Workdir: "/w"},
		{Name: "asks", Harness: "fake", State: coleo.WaitingApproval, Status: coleo.StatusIdle, Workdir: "/w",
			Dialog: &coleo.Dialog{Title: "May I?"}},
		{Name: "dead", Harness: "fake", State: coleo.Dead, Status: coleo.StatusError, Workdir: "/w"},
	}
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	if _, err := io.WriteString(show.Writer(c), armTable(arms, "", time.Now())); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("colours where nobody sees them: %q", out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+len(arms) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	at := strings.Index(lines[0], "FOLDER")
	for _, line := range lines[1:] {
		if strings.Index(line, "/w") != at {
			t.Errorf("columns are out of line:\n%s", out.String())
			break
		}
	}
	if got := statusText(arms[3], time.Now()); !strings.Contains(got, show.Red.Paint("dead")) {
		t.Errorf("a dead arm is not red: %q", got)
	}
}
