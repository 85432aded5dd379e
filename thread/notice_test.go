package thread_test

import (
	"strings"
	"testing"
)

// Claude Code begins a turn by itself when a background task has ended. The notice about that task is no prompt of the
// person: a successor of the arm would take it for the person's last prompt.
func TestANoticeOfTheAgentCLIIsNoPromptOfThePerson(t *testing.T) {
	t.Parallel()
	s := newStage(t, "claude-code")
	s.write(".claude/projects/w/"+uuid(1)+".jsonl", `{"type":"user","cwd":"/w","timestamp":"2026-11-22T12:00:00Z",`+
		`"message":{"content":"start it"},"origin":{"kind":"human"}}
{"type":"assistant","timestamp":"2026-11-22T12:00:01Z","message":{"content":[{"type":"text","text":"It is started."}]}}
{"type":"user","timestamp":"2026-11-22T12:00:02Z","message":{"content":"<task-notification>done</task-notification>"},`+
		`"origin":{"kind":"task-notification"}}
{"type":"assistant","timestamp":"2026-11-22T12:00:03Z","message":{"content":[{"type":"text","text":"It is done."}]}}
`)
	s.refresh()
	if r := s.one(uuid(1)); r.Prompts != 1 || r.Title != "start it" {
		t.Errorf("before its messages were read, the thread has %d prompts: %+v", r.Prompts, r)
	}
	const want = "prompt start it|answer It is started.|answer It is done."
	if got := strings.Join(s.messages(uuid(1)), "|"); got != want {
		t.Errorf("the messages are %q, want %q", got, want)
	}
}
