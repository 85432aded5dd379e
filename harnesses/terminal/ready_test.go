package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
)

// startSpec describes a program that asks a question when it starts.
var startSpec = strings.Replace(stageSpec, "[[rule]]", `[[dialog]]
name = "trust"
kind = "trust"
when = [{ where = "bottom 1", pattern = '^> 1\. Trust it' }]
top = '^====='
title = '^(Do you trust it\?)$'
option = '^> (?P<number>\d)\. (?P<label>.*)$'
select = "digit"
approve = '^Trust it'
[[rule]]`, 1)

type noEntries struct{}

func (noEntries) Decode([]byte) []record.Entry { return nil }

// Gemini CLI draws its composer seconds before it asks whether the folder is trusted. A prompt must
// wait until the start is over, because otherwise its submit key would trust the folder.
func TestAPromptWaitsForTheEndOfTheStart(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	log := filepath.Join(home, "one.jsonl")
	if err := os.WriteFile(log, []byte("of an earlier start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := Hooks{Record: record.Source{Pattern: "{id}*.jsonl", ReportsReady: true,
		Open: record.Lines(func() record.Decoder { return noEntries{} })}}
	st, s := setStageWith(t, startSpec, hooks,
		coleo.SpawnConfig{Cols: 40, Rows: 8, Conversation: "one", Environ: []string{"HOME=" + home}})
	st.say(s, []byte(composing("")))
	st.await("the composer is seen", func() bool { return s.State().Rule != "spawned" })
	refused := func(code coleo.Code) {
		t.Helper()
		if _, err := s.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"}); coleo.ErrorCode(err) != code {
			t.Errorf("a prompt at the start = %v, want %s", err, code)
		}
		if got := st.typedSoFar(); got != "" {
			t.Fatalf("the program was typed %q", got)
		}
	}
	refused(coleo.EBusy)
	st.say(s, []byte("\x1b[2J\x1b[H=====\r\nDo you trust it?\r\n> 1. Trust it"))
	st.await("it asks", func() bool { return s.State().State == coleo.WaitingApproval })
	refused(coleo.EBlocked)
	st.say(s, []byte("\x1b[2J\x1b[H"+composing("")))
	st.await("the question is gone", func() bool { return s.State().State == coleo.Initializing })
	refused(coleo.EBusy)
	if err := os.WriteFile(filepath.Join(home, "one-2.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st.await("it is idle", func() bool { return s.State().State == coleo.Idle })
	if why := s.State().Detail; why != "" {
		t.Errorf("the idle state is %q", why)
	}
}
