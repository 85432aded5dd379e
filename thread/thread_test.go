package thread_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
	"coleo.dev/thread"
)

// recordings contains, for each harness, the path of a conversation below HOME and its recording.
var recordings = []struct{ harness, path, recording string }{
	{"claude-code", ".claude/projects/-tmp-w/2c523ccf-92a6-4eea-81b9-10a76489cea7.jsonl",
		"claudecode/testdata/record-2.1.329.jsonl.gz"},
	{"codex", ".codex/sessions/2026/11/22/rollout-2026-11-22T15-42-40-01a203ec-7e41-7403-9625-22dc288cf1d5.jsonl",
		"codex/testdata/record-0.169.0.jsonl.gz"},
	{"gemini", ".gemini/tmp/w/chats/session-2026-11-22T15-43-6271edd2.jsonl", "gemini/testdata/record-0.61.0.jsonl.gz"},
	{"qwen", ".qwen/projects/-tmp-w/chats/130e0d4d-a0f5-45ea-ab3b-c35bcb528cd6.jsonl",
		"qwen/testdata/record-0.24.4.jsonl.gz"},
	{"copilot", ".copilot/session-state/cb673ae7-2d5e-48b5-b52c-7c7fc03f5a28/events.jsonl",
		"copilot/testdata/record-1.0.102.jsonl.gz"},
}

func TestM6RecordedConversationsAreListed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, r := range recordings {
		text := s.recorded(r.recording)
		if r.harness == "copilot" { // the recording lacks its first line
			text = `{"type":"session.start","data":{"context":{"cwd":"/work/copilot"}}}` + "\n" + text
		}
		s.write(r.path, text)
	}
	s.write(".gemini/tmp/w/.project_root", "/work/gemini")
	s.openCode("opencode", "")
	s.openCode("kilo", "ses_parent")
	got := map[string]thread.Row{}
	for _, r := range s.list(coleo.ThreadFilter{Hidden: true}) {
		got[r.Harness] = r
	}
	for _, want := range []struct {
		harness, id, folder, title string
		prompts                    int
		hidden                     string
	}{
		{"claude-code", "2c523ccf-92a6-4eea-81b9-10a76489cea7", "/tmp/rec/claude-code/w", "say finished-31579", 9, ""},
		{"codex", "01a203ec-7e41-7403-9625-22dc288cf1d5", "/tmp/rec/codex/w", "say finished-", 1, ""},
		{"gemini", "6271edd2-80c1-4c87-af4d-6b82183a7fdf", "/work/gemini", "say finished-465", 1, ""},
		{"qwen", "130e0d4d-a0f5-45ea-ab3b-c35bcb528cd6", "/home/jo/qwen/w", "say finished-13551", 1, ""},
		{"copilot", "cb673ae7-2d5e-48b5-b52c-7c7fc03f5a28", "/work/copilot", "say finished-18289", 1, ""},
		{"opencode", "ses_dfc11c59affehaT3ldQ1TAR4Nt", "/work/opencode", "A chat", 1, ""},
		{"kilo", "ses_dfc11c59affehaT3ldQ1TAR4Nt", "/work/opencode", "A chat", 1, "subagent"},
	} {
		r := got[want.harness]
		if r.ID != want.id || r.Folder != want.folder || !strings.HasPrefix(r.Title, want.title) ||
			r.Prompts < want.prompts ||
			r.Hidden != want.hidden || r.Preview == "" || r.Begun.IsZero() || !r.Last.After(r.Begun) {
			t.Errorf("%s = %+v, want %+v", want.harness, r, want)
		}
	}
	for harness, r := range got {
		if harness == "kilo" || harness == "opencode" {
			continue // their threads have the same id, and s.messages needs an id of only one thread
		}
		all := s.messages(r.ID)
		if !slices.ContainsFunc(all, func(m string) bool { return strings.HasPrefix(m, "prompt say finished-") }) ||
			!slices.ContainsFunc(all, func(m string) bool { return strings.HasPrefix(m, "answer finished-") }) ||
			!slices.ContainsFunc(all, func(m string) bool { return strings.HasPrefix(m, "tool ") }) {
			t.Errorf("%s has the messages %q", harness, all)
		}
	}
}

func TestM6ForksAndSubagentsAreHidden(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work/a", noon, "first", "answer")
	for n, line := range map[int]string{
		2: `{"type":"user","sessionId":"x","forkedFrom":{"sessionId":"y"},"message":{"content":"hi"}}`,
		3: `{"type":"assistant","sessionId":"x","requestSessionId":"y","message":{"content":[{"type":"text","text":"hi"}]}}`,
		4: `{"type":"user","isSidechain":true,"sessionId":"x","message":{"content":"hi"}}`,
	} {
		s.write(".claude/projects/p/"+uuid(n)+".jsonl", line+"\n")
	}
	for n, rest := range map[int]string{5: `"source":{"subagent":"review"}`, 6: `"source":"cli","forked_from_id":"x"`} {
		s.write(".codex/sessions/2026/11/22/rollout-2026-11-22T15-42-40-"+uuid(n)+".jsonl",
			`{"type":"session_meta","payload":{"id":"`+uuid(n)+`","cwd":"/w",`+rest+`}}`+"\n")
	}
	s.write(".gemini/tmp/w/chats/session-2026-11-22T15-43-"+uuid(7)[:8]+".jsonl",
		`{"sessionId":"`+uuid(7)+`","kind":"subagent"}`+"\n")
	if got := ids(s.list(coleo.ThreadFilter{})); got != uuid(1) {
		t.Errorf("the list has %s, want only %s", got, uuid(1))
	}
	for n, want := range map[int]string{1: "", 2: "fork", 3: "fork", 4: "subagent", 5: "subagent", 6: "fork",
		7: "subagent"} {
		if got := s.one(uuid(n)).Hidden; got != want {
			t.Errorf("thread %d is hidden as %q, want %q", n, got, want)
		}
	}
}

func TestM8ThreadsOfAProject(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := t.TempDir()
	s.check(exec.Command("git", "init", "-q", repo).Run())
	below := filepath.Join(repo, "a", "b")
	s.check(os.MkdirAll(below, 0o700))
	s.conversation(uuid(1), repo, noon, "in the root")
	s.conversation(uuid(2), below, noon.Add(time.Hour), "below the root")
	s.conversation(uuid(3), "/somewhere/else", noon, "elsewhere")
	for _, folder := range []string{repo, below, filepath.Join(repo, "gone")} {
		if got := ids(s.list(coleo.ThreadFilter{Project: folder})); got != uuid(2)+" "+uuid(1) {
			t.Errorf("the project of %s has %s", folder, got)
		}
	}
	if r := s.one(uuid(3)); r.Project != "/somewhere/else" {
		t.Errorf("a folder that is gone has the project %q", r.Project)
	}
	link := filepath.Join(t.TempDir(), "link") // agent CLIs record the real path of their work folder
	s.check(os.Symlink(repo, link))
	if got := ids(s.list(coleo.ThreadFilter{Project: filepath.Join(link, "a")})); got != uuid(2)+" "+uuid(1) {
		t.Errorf("the project behind a link has %s", got)
	}
	rows, err := s.index.List(t.Context(), thread.Query{Folder: link})
	if s.check(err); len(rows) != 1 || rows[0].ID != uuid(1) {
		t.Errorf("the folder behind a link has %+v", rows)
	}
	if got := ids(s.list(coleo.ThreadFilter{Since: noon.Add(time.Minute)})); got != uuid(2) {
		t.Errorf("since a minute past noon: %s", got)
	}
}

// TestHostileRecordsHarmNothing: a good conversation beside hostile records must still be listed.
func TestHostileRecordsHarmNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	contents := []string{
		"", "\n\n\n", "\x00\xff\xfe\x80", "{", `{"type":`, "null\n", "[]\n", `"text"` + "\n", "3\n",
		strings.Repeat("[", 200000) + "\n", strings.Repeat("x", 6<<20), strings.Repeat(`{"type":"user"}`+"\n", 50000),
		`{"type":"user","cwd":7,"message":{"content":{"a":[1]}},"timestamp":"no","sessionId":[],"payload":[],"data":3}` +
			"\n",
		`{"type":"user","cwd":"relative/folder","message":{"content":"` + strings.Repeat("long ", 30000) + `"}}` + "\n",
		`{"type":"user","cwd":"/w\u0000x","message":{"content":"\u001b[31m\u0007 \ud800 red"}}` + "\n",
		`{"type":"session_meta","payload":{"id":"../../../etc/passwd","cwd":"/"}}` + "\n",
		`{"sessionId":"../../x","kind":"main"}` + "\n",
	}
	for n, text := range contents {
		for _, r := range recordings {
			s.write(strings.NewReplacer("2c523ccf", uuid(n)[:8], "01a203ec", uuid(n)[:8], "6271edd2", uuid(n)[:8],
				"130e0d4d", uuid(n)[:8], "cb673ae7", uuid(n)[:8]).Replace(r.path), text)
		}
	}
	for _, name := range []string{"--dangerously-skip-permissions", "a b", "$(x)", "a;b", "é", strings.Repeat("n", 240)} {
		s.write(".claude/projects/p/"+name+".jsonl", `{"type":"user","message":{"content":"named"}}`+"\n")
	}
	dir := filepath.Join(s.home, ".claude/projects/p")
	s.check(os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700))
	s.check(syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600))
	s.check(os.Symlink("loop.jsonl", filepath.Join(dir, "loop.jsonl")))
	s.check(os.Symlink("/dev/zero", filepath.Join(dir, "zero.jsonl")))
	s.check(os.Symlink(".", filepath.Join(dir, "again")))
	s.check(os.MkdirAll(filepath.Join(s.home, ".gemini/tmp/w"), 0o700))
	s.check(syscall.Mkfifo(filepath.Join(s.home, ".gemini/tmp/w/.project_root"), 0o600))
	s.write(".local/share/kilo/kilo.db", "no database at all, but a text that is long enough to have a header")
	s.conversation(uuid(9999), "/work/good", noon, "the good prompt", "the good answer")

	unread, failed, err := s.index.Refresh(t.Context(), s.places)
	if err != nil || unread != 0 || len(failed) != 1 || !strings.HasPrefix(failed[0], "kilo in ") {
		t.Fatalf("Refresh = %d unread, failed %q, %v", unread, failed, err)
	}
	if unread, err := s.index.Fill(t.Context(), s.places, ""); unread != 0 || err != nil {
		t.Fatalf("Fill = %d unread, %v", unread, err)
	}
	rows, err := s.index.List(t.Context(), thread.Query{ThreadFilter: coleo.ThreadFilter{Hidden: true, Limit: 500}})
	s.check(err)
	good := false
	for _, r := range rows {
		good = good || r.ID == uuid(9999)
		if strings.Trim(strings.ToLower(r.ID), "0123456789abcdef-") != "" || r.ID[0] == '-' ||
			r.Title != record.OneLine(r.Title) || strings.ContainsAny(r.Title+r.Preview, "\x1b\x07\n") ||
			r.Folder != "" && !filepath.IsAbs(r.Folder) || strings.Contains(r.Folder, "\x00") {
			t.Errorf("listed: %+v", r)
		}
	}
	if !good {
		t.Errorf("the good conversation is not among %d", len(rows))
	}
}

// TestASecondListingReadsNothingAgain: the second listing must take at most a twentieth of the time
// of the first.
func TestASecondListingReadsNothingAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes 2,000 conversations: leave out -short")
	}
	s := newStage(t)
	const many = 2000
	answer := strings.Repeat("some words of an answer ", 40)
	for n := range many {
		s.conversation(uuid(n), "/work/"+string(rune('a'+n%26)), noon.Add(time.Duration(n)*time.Minute),
			"prompt one", answer, "prompt two", answer, "prompt three", answer, "prompt four", answer)
	}
	timed := func() time.Duration {
		begun := time.Now()
		s.refresh()
		return time.Since(begun)
	}
	first := timed()
	second := min(timed(), timed(), timed())
	t.Logf("%d conversations: the first listing took %s, the second %s", many, first, second)
	if second > first/20 {
		t.Errorf("the second listing took %s, and the first %s", second, first)
	}
	rows := s.list(coleo.ThreadFilter{Limit: 10})
	if len(rows) != 10 || rows[0].ID != uuid(many-1) || rows[0].Prompts != 4 {
		t.Errorf("the newest are %+v", rows)
	}
}

func TestChangedAndDeletedRecordsAreNoticed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.conversation(uuid(1), "/work", noon, "first", "one")
	other := s.conversation(uuid(2), "/work", noon, "other")
	if got := s.messages(uuid(1)); !slices.Equal(got, []string{"prompt first", "answer one"}) {
		t.Fatalf("messages %q", got)
	}
	s.conversation(uuid(1), "/work", noon, "first", "one", "second", "two")
	if got := s.messages(uuid(1)); len(got) != 4 || got[3] != "answer two" {
		t.Errorf("messages %q after the record has grown", got)
	}
	if r := s.one(uuid(1)); r.Preview != "two" || r.Prompts != 2 || r.Path != path {
		t.Errorf("the thread is %+v", r)
	}
	s.check(os.Remove(other))
	if got := ids(s.list(coleo.ThreadFilter{})); got != uuid(1) {
		t.Errorf("listed: %s, after the other was deleted", got)
	}
	s.places = nil // for example, the arm with this HOME was removed
	if got := ids(s.list(coleo.ThreadFilter{})); got != "" {
		t.Errorf("listed: %s, without any place", got)
	}
}

func TestALongConversationIsReadPartlyForAListing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var all []string
	for range 400 {
		all = append(all, "a prompt", strings.Repeat("an answer ", 200))
	}
	s.conversation(uuid(1), "/work", noon, append(all, "the last prompt", "the last answer")...)
	s.refresh()
	if r := s.one(uuid(1)); !r.Partly || r.Prompts >= 401 || r.Title != "a prompt" || r.Preview != "the last answer" {
		t.Errorf("before its messages are read: %+v", r)
	}
	s.fill()
	r := s.one(uuid(1))
	if r.Partly || r.Prompts != 401 {
		t.Errorf("after its messages are read: %+v", r)
	}
	var got int
	for after, next := 0, 0; ; after = next {
		page, n, err := s.index.Messages(t.Context(), r, after, 7)
		s.check(err)
		if got += len(page); n == 0 {
			break
		}
		if next = n; len(page) == 0 || page[len(page)-1].N != n || page[0].N != after+1 {
			t.Fatalf("the page after %d ends with %+v and goes on after %d", after, page[len(page)-1], n)
		}
	}
	if got != 802 {
		t.Errorf("%d messages on all pages, want 802", got)
	}
}

func TestM6TitlesAndDeletionsAreKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.conversation(uuid(1), "/work", noon, "first", "one")
	s.conversation(uuid(2), "/work", noon.Add(time.Hour), "second", "two")
	s.fill()
	s.check(s.index.Rename(t.Context(), s.one(uuid(2)), " My\n title "))
	s.check(s.index.Delete(t.Context(), s.one(uuid(1)), false))
	if err := s.index.Rename(t.Context(), s.one(uuid(2)), strings.Repeat("x", 401)); coleo.ErrorCode(err) !=
		coleo.EInvalid {
		t.Errorf("a title of 401 bytes: %v", err)
	}
	s.check(s.index.Close())
	s.check(os.Remove(s.database())) // the index is a cache, so it may be deleted
	s.index = nil
	s.open()
	rows := s.list(coleo.ThreadFilter{})
	if ids(rows) != uuid(2) || rows[0].Title != "My title" {
		t.Errorf("with a new index: %+v", rows)
	}
	if r := s.one(uuid(1)); r.Hidden != coleo.HiddenDeleted {
		t.Errorf("the deleted thread is %+v", r)
	}
	if got := s.messages(uuid(1)); got != nil {
		t.Errorf("messages of a deleted thread: %q", got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the agent CLI's file: %v", err)
	}
	s.check(s.index.Delete(t.Context(), s.one(uuid(1)), true))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the agent CLI's file after its deletion: %v", err)
	}
	s.check(s.index.Rename(t.Context(), s.one(uuid(2)), ""))
	if got := s.one(uuid(2)).Title; got != "second" {
		t.Errorf("without our title it is %q", got)
	}
}

func TestConversationsInOneDatabaseKeepTheirFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.openCode("opencode", "")
	rows := s.list(coleo.ThreadFilter{})
	if len(rows) != 1 {
		t.Fatalf("listed: %+v", rows)
	}
	if err := s.index.Delete(t.Context(), rows[0], true); coleo.ErrorCode(err) != coleo.EUnsupported {
		t.Errorf("Delete with the file = %v", err)
	}
	if got := len(s.list(coleo.ThreadFilter{})); got != 1 {
		t.Errorf("%d threads after a refused deletion", got)
	}
}

func TestOnlyItsUserCanReadTheIndex(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work", noon, "first", "one")
	s.fill()
	s.check(s.index.Rename(t.Context(), s.one(uuid(1)), "mine"))
	files, err := os.ReadDir(s.state)
	s.check(err)
	if len(files) < 2 {
		t.Fatalf("files: %v", files)
	}
	for _, f := range files {
		info, err := f.Info()
		if s.check(err); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", f.Name(), info.Mode())
		}
	}
}

func TestADamagedIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.conversation(uuid(1), "/work", noon, "first", "one")
	s.fill()
	s.check(s.index.Close())
	s.index = nil
	s.check(os.WriteFile(s.database(), []byte(strings.Repeat("this is no database ", 500)), 0o600))
	s.open()
	if got := ids(s.list(coleo.ThreadFilter{})); got != uuid(1) {
		t.Errorf("listed: %s", got)
	}
}
