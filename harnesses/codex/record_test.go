package codex

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
	"coleo.dev/record/recordtest"
)

func TestTheRecordTellsHowEachTurnEnded(t *testing.T) {
	t.Parallel()
	recordtest.Check(t, newDecoder(), "testdata/record-0.169.0.jsonl.gz", []recordtest.Turn{
		{Prompt: "say finished-4360", Ending: record.Finished, Answer: "finished-4360"},
		{Prompt: "count to 200 every 50ms", Ending: record.Interrupted},
		{Prompt: "write hello.txt with Hello", Ending: record.Interrupted, Answer: "I will write hello.txt."},
		{Prompt: "write hello2.txt with Hello", Ending: record.Finished, Answer: "The tool has answered"},
		{Prompt: "fail 400", Ending: record.Failed},
		{Prompt: "count to 100 every 50ms", Ending: record.Finished, Answer: "1 2 3"},
		{Prompt: "think of it for 2s, then say thought", Ending: record.Finished, Answer: "thought"},
		{Prompt: "run ls, then say done", Ending: record.Finished, Answer: "done"},
	})
}

// Codex writes a rollout, the file with a conversation, for each subagent too. The subagent's file is newer
// than the user's, and names the same work folder. It must still not be treated as the user's conversation.
func TestARolloutOfASubagentIsNotTheConversation(t *testing.T) {
	t.Parallel()
	f := terminal.Facts{Home: t.TempDir(), Workdir: "/w"}
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "23")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const user, subagent, elsewhere = "01a20a40-6c87-7df3-a5c4-754f040a734d", "01a20a40-7024-7a02-bda2-4fd115373ef6",
		"01a20a40-7c5d-7320-9785-891b6e52f1d7"
	for id, rest := range map[string]string{
		user: `"cwd":"/w","source":"cli","thread_source":"user"`,
		subagent: `"parent_thread_id":"` + user + `","cwd":"/w","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` +
			user + `","depth":1}}},"thread_source":"subagent"`,
		elsewhere: `"cwd":"/other","source":"cli","thread_source":"user"`,
	} {
		line := `{"type":"session_meta","payload":{"id":"` + id + `",` + rest + "}}\n"
		path := filepath.Join(dir, "rollout-2026-11-23T21-12-04-"+id+".jsonl")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := conversation(t.Context(), f); got != user || err != nil {
		t.Errorf("the conversation is %q, %v; want %q", got, err, user)
	}
}

// A Codex that the user has started in the same folder before the arm still writes to its rollout. It is not the
// arm's conversation.
func TestARolloutThatBeganBeforeTheArmIsNotTheConversation(t *testing.T) {
	t.Parallel()
	started := time.Now().UTC()
	f := terminal.Facts{Home: t.TempDir(), Workdir: "/w", Started: started}
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "23")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const own, earlier, later = "01a20a40-6c87-7df3-a5c4-754f040a734d", "01a20a40-7024-7a02-bda2-4fd115373ef6",
		"01a20a40-7c5d-7320-9785-891b6e52f1d7"
	write := func(id string, begun time.Time) {
		line := `{"timestamp":"` + started.Add(time.Minute).Format(time.RFC3339Nano) + `","type":"session_meta",` +
			`"payload":{"id":"` + id + `","timestamp":"` + begun.Format(time.RFC3339Nano) +
			`","cwd":"/w","source":"cli","thread_source":"user"}}` + "\n"
		path := filepath.Join(dir, "rollout-2026-11-23T21-12-04-"+id+".jsonl")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, started.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	write(earlier, started.Add(-time.Hour))
	if got, err := conversation(t.Context(), f); got != "" || err != nil {
		t.Errorf("without a rollout of its own, the conversation is %q, %v", got, err)
	}
	write(own, started.Add(time.Second))
	write(later, started.Add(time.Minute))
	f.Mine = func(id string, _ time.Time) bool { return id != later }
	if got, err := conversation(t.Context(), f); got != own || err != nil {
		t.Errorf("the conversation is %q, %v; want %q", got, err, own)
	}
}

// The path of the work folder can lead through a symbolic link. Codex records the folder's real path.
func TestTheConversationOfAFolderBehindALinkIsFound(t *testing.T) {
	t.Parallel()
	const id = "01a20a40-6c87-7df3-a5c4-754f040a734d"
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	f := terminal.Facts{Home: t.TempDir(), Workdir: link}
	dir := filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "23")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"type":"session_meta","payload":{"id":"` + id + `","cwd":"` + real + `","source":"cli"}}` + "\n"
	path := filepath.Join(dir, "rollout-2026-11-23T21-12-04-"+id+".jsonl")
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := conversation(t.Context(), f); got != id || err != nil {
		t.Errorf("the conversation is %q, %v; want %q", got, err, id)
	}
}
