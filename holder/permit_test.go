package holder

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// Some holders accept keys only during a permit. TestKeysNeedAPermitThatHolds types before, during and after a
// permit. The program records which keys reach it.
func TestKeysNeedAPermitThatHolds(t *testing.T) {
	got := filepath.Join(t.TempDir(), "typed")
	_, l := startLaunch(t, func(l *Launch) {
		l.NeedsPermit = true
	}, "/bin/sh", "-c", "stty raw -echo; echo ready; exec cat > "+got)
	c := dial(t, l)
	output(t, c, 0, "ready")
	n := 0
	keys := func(text string, kind WriteKind) error {
		n++
		_, err := c.Write(Write{ID: strconv.Itoa(n), Kind: kind, Data: []byte(text)})
		return err
	}
	if err := keys("early ", WriteKeys); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Errorf("without a permit: %v, want %s", err, coleo.EUnproven)
	}
	if err := keys("other ", "another kind"); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Errorf("keys of an unknown kind: %v, want %s", err, coleo.EUnproven)
	}
	if err := keys("reply ", WriteReply); err != nil {
		t.Errorf("an answer to the program's query: %v", err)
	}
	permit(t, c, maxPermit/2)
	if err := keys("under ", WriteKeys); err != nil {
		t.Errorf("under a permit: %v", err)
	}
	permit(t, c, 0)
	if err := keys("taken back ", WriteKeys); coleo.ErrorCode(err) != coleo.EUnproven {
		t.Errorf("after the permit was taken back: %v, want %s", err, coleo.EUnproven)
	}
	permit(t, c, 20*time.Millisecond)
	wait(t, func() bool { return coleo.ErrorCode(keys(".", WriteKeys)) == coleo.EUnproven })
	permit(t, c, maxPermit/2)
	if err := keys("end", WriteKeys); err != nil {
		t.Errorf("under the next permit: %v", err)
	}
	dots := ""
	wait(t, func() bool {
		raw, err := os.ReadFile(got)
		if err != nil {
			return false
		}
		text := string(raw)
		if len(text) < len("reply under end") || text[len(text)-3:] != "end" {
			return false
		}
		dots = text
		return true
	})
	for _, c := range dots[len("reply under ") : len(dots)-len("end")] {
		if c != '.' {
			t.Errorf("the program read %q", dots)
		}
	}
}

// TestAPasteIsCutOffWhenThePermitLapses types a long text into a program that does not read. The
// rest of the text must not be typed after the permit has ended.
func TestAPasteIsCutOffWhenThePermitLapses(t *testing.T) {
	_, l := startLaunch(t, func(l *Launch) {
		l.NeedsPermit = true
	}, "/bin/sh", "-c", "stty raw -echo; echo ready; exec sleep 1000")
	c := dial(t, l)
	output(t, c, 0, "ready")
	permit(t, c, 100*time.Millisecond)
	start := time.Now()
	_, err := c.Write(Write{ID: "paste", Kind: WriteKeys, Data: make([]byte, 1<<20)})
	if err == nil {
		t.Fatal("a program that reads nothing took a megabyte")
	}
	if took := time.Since(start); took > pasteTimeout/2 {
		t.Errorf("the paste went on for %s after the permit had lapsed", took)
	}
}

func TestAPermitIsBounded(t *testing.T) {
	_, l := startLaunch(t, func(l *Launch) { l.NeedsPermit = true }, "/bin/cat")
	if err := dial(t, l).Permit(boottime.Now() + time.Hour); coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("a permit for an hour: %v, want %s", err, coleo.EInvalid)
	}
}

func permit(t *testing.T, c *Client, left time.Duration) {
	t.Helper()
	if err := c.Permit(boottime.Now() + left); err != nil {
		t.Fatal(err)
	}
}
