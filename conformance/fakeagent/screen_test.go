package fakeagent

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestLinesAreWrappedByCells(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"abcd", []string{"abcd"}},
		{"abcdef\n\ng", []string{"abcd", "ef", "", "g"}},
		{"a漢字b", []string{"a漢", "字b"}},
		{"漢字é", []string{"漢字", "é"}},
	}
	for _, tt := range tests {
		if got := wrap(tt.text, 4); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, 4) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

// A harness believes an idle picture with an empty composer. So no such picture may show a prompt that was just
// submitted.
func TestNoPictureShowsANewPromptWhileTheFakeLooksIdle(t *testing.T) {
	t.Parallel()
	noTerminal, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = noTerminal.Close() })
	var out bytes.Buffer
	p := &program{in: noTerminal, out: &out, rec: &recorder{out: io.Discard}, state: "idle"}
	p.lockedDo(func() {
		p.composer = "say yes"
		p.submit(t.Context())
	})
	p.turns.Wait()
	pictures := strings.SplitAfter(out.String(), "\x1b[?2026l")
	if first := pictures[0]; !strings.Contains(first, "❯ say yes") || !strings.Contains(first, "esc to interrupt") {
		t.Errorf("the first of %d pictures is %q", len(pictures), first)
	}
}
