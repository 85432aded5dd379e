package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// conversation writes a conversation with one prompt and one answer below HOME.
func (w *world) conversation(id, folder, prompt, answer string) string {
	w.t.Helper()
	dir := filepath.Join(w.home, ".claude/projects", strings.ReplaceAll(folder, "/", "-"))
	w.check(os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, id+".jsonl")
	w.check(os.WriteFile(path, fmt.Appendf(nil,
		`{"type":"user","cwd":%q,"timestamp":"2026-11-22T12:00:00Z","message":{"content":%q}}
{"type":"assistant","cwd":%q,"timestamp":"2026-11-22T12:00:01Z","message":{"content":[{"type":"text","text":%q}]}}
`, folder, prompt, folder, answer), 0o600))
	return path
}

// search searches conversations and returns the ids of the results. Without full-text search, it
// checks that the error is one clear line.
func (w *world) search(words ...string) (ids []string) {
	w.t.Helper()
	if !fullText {
		e := w.fails(2, append([]string{"thread", "search"}, words...)...)
		if e.Code != coleo.EUnsupported || !strings.Contains(e.Message, "-tags sqlite_fts5") ||
			strings.Contains(e.Message, "\n") {
			w.t.Errorf("a search without full-text search: %+v", e)
		}
		return nil
	}
	for _, t := range decode[coleo.ThreadList](w, append([]string{"thread", "search"}, words...)...).Threads {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestM6ThreadsOfTheUserAreListedSearchedAndRenamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	project := w.workdirOf("project")
	first := w.conversation("first-id", project, "why does it fail?", "because of the flux capacitor")
	w.conversation("second-id", w.dir, "another thing", "another answer")
	w.must("up")
	if _, err := os.Stat(w.path("state/threads.db")); !os.IsNotExist(err) {
		t.Errorf("before anybody asks, the index is there: %v", err)
	}
	list := decode[coleo.ThreadList](w, "thread", "list", "--project", project)
	if len(list.Threads) != 1 || list.Threads[0].ID != "first-id" || list.Threads[0].Project != project ||
		list.Threads[0].Harness != "claude-code" || list.Threads[0].Home != "" || list.Threads[0].Prompts != 1 {
		t.Errorf("the threads of the project: %+v", list)
	}
	if out := w.must("thread", "list"); !strings.Contains(out, "first-id") || !strings.Contains(out, "second-id") ||
		!strings.Contains(out, "why does it fail?") {
		t.Errorf("thread list:\n%s", out)
	}
	if got := w.search("flux", "capacitor"); fullText && fmt.Sprint(got) != "[first-id]" {
		t.Errorf("search = %v", got)
	}
	if fullText {
		if out := w.must("thread", "search", "flux"); !strings.Contains(out, "because of the flux capacitor") {
			t.Errorf("thread search:\n%s", out)
		}
	}
	if out := w.must("thread", "show", "fir"); !strings.Contains(out, "1 prompt\nwhy does it fail?") ||
		!strings.Contains(out, "2 answer\nbecause of the flux capacitor") {
		t.Errorf("thread show:\n%s", out)
	}
	w.must("thread", "rename", "first-id", "The flux thing")
	if out := w.must("backup", w.path("backup.tar.gz")); !strings.Contains(out, "state/threads.json") ||
		strings.Contains(out, "threads.db") {
		t.Errorf("backup:\n%s", out)
	}
	w.must("down")
	w.must("up")
	if out := w.must("thread", "list"); !strings.Contains(out, "The flux thing") {
		t.Errorf("the title is lost:\n%s", out)
	}
	w.must("thread", "delete", "first-id")
	if out := w.must("thread", "list"); strings.Contains(out, "first-id") {
		t.Errorf("a deleted thread is listed:\n%s", out)
	}
	if _, err := os.Stat(first); err != nil {
		t.Errorf("the agent CLI's file: %v", err)
	}
	w.must("thread", "delete", "first-id", "--file")
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("the agent CLI's file after delete --file: %v", err)
	}
	for _, c := range []struct {
		exit int
		args []string
		want string
	}{
		{4, []string{"show", "nothing"}, "no conversation has the id nothing"},
		{2, []string{"search"}, "takes the words"},
		{2, []string{"list", "--project", "/nowhere/at/all"}, "/nowhere/at/all"},
		{4, []string{"list", "--arm", "nobody"}, `no arm called "nobody"`},
	} {
		if e := w.fails(c.exit, append([]string{"thread"}, c.args...)...); !strings.Contains(e.Message, c.want) {
			t.Errorf("%v: %q, want %q", c.args, e.Message, c.want)
		}
	}
	for _, name := range []string{"threads.db", "threads.json"} {
		if info, err := os.Stat(w.path("state/" + name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// newKeeper returns a world with a harness that can continue conversations. The function `start`
// starts an arm that continues the given conversation.
func newKeeper(t *testing.T) (w *world, start func(name, conversation string) (wire.SpawnReply, error)) {
	t.Helper()
	w = newWorld(t, "")
	text := strings.NewReplacer("name = \"fake\"", "name = \"keeper\"", "[capabilities]\n",
		"[capabilities]\nresume = true\n",
		"[launch]\n", "[launch]\nnew_id = true\n").Replace(w.read("config/harnesses/fake.toml"))
	w.write("config/harnesses/keeper.toml", text)
	w.must("up")
	client, err := w.client()
	w.check(err)
	return w, func(name, conversation string) (wire.SpawnReply, error) {
		t.Helper()
		return client.Spawn(t.Context(), wire.SpawnRequest{Name: name, Harness: "keeper",
			Workdir: w.workdir(name, fakeagent.Script{}), Conversation: conversation, Recover: conversation != ""})
	}
}

func TestM7OneArmHoldsAThread(t *testing.T) {
	t.Parallel()
	w, start := newKeeper(t)
	one, err := start("one", "")
	w.check(err)
	id := one.SessionID
	locked := func(when string, err error, holder string) {
		t.Helper()
		if coleo.ErrorCode(err) != coleo.EThreadLocked || !strings.Contains(err.Error(), "arm "+holder) {
			t.Errorf("%s: %v, want %s that names %s", when, err, coleo.EThreadLocked, holder)
		}
	}
	_, err = start("two", id)
	locked("a second start", err, "one")
	if r := w.run("arm", "status", "two"); r.code != 4 {
		t.Errorf("the refused arm is there: %v", r)
	}
	w.kill9(w.onlyProcess("agent"))
	w.must("up")
	w.wait("one", coleo.Idle)
	_, err = start("two", id)
	locked("after the host agent was killed", err, "one")

	w.must("arm", "kill", "one")
	w.checkOneWins(start, id)
	holder := ""
	for _, arm := range decode[struct{ Arms []coleo.Arm }](w, "arm", "list").Arms {
		if arm.SessionID == id && arm.Status != coleo.StatusStopped {
			holder = arm.Name
		}
	}
	if e := w.fails(21, "arm", "recover", "one"); e.Code != coleo.EThreadLocked ||
		!strings.Contains(e.Message, "arm "+holder) {
		t.Errorf("recover of the arm that had it: %+v, want %s that names %s", e, coleo.EThreadLocked, holder)
	}
	w.must("arm", "kill", holder)
	w.must("arm", "recover", "one")
	if got := w.arm("one"); got.SessionID != id {
		t.Errorf("after recover, arm one has the conversation %s, want %s", got.SessionID, id)
	}
}

// checkOneWins starts several arms with the same conversation at the same time. Exactly one start
// must succeed.
func (w *world) checkOneWins(start func(name, conversation string) (wire.SpawnReply, error), id string) {
	w.t.Helper()
	const many = 6
	var starting sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		starting.Go(func() { _, errs[i] = start(fmt.Sprint("rival", i), id) })
	}
	starting.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if coleo.ErrorCode(err) != coleo.EThreadLocked {
			w.t.Errorf("a rival got %v, want %s", err, coleo.EThreadLocked)
		}
	}
	if won != 1 {
		w.t.Errorf("%d of %d arms got the conversation, want one", won, many)
	}
}

func TestAnArmWithoutAThreadSaysSo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	if e := f.fails(4, "arm", "thread", f.name); !strings.Contains(e.Message, "has no conversation yet") {
		t.Errorf("arm thread: %+v", e)
	}
	f.conversation("an-id", f.workdir, "hello", "hi")
	if e := f.fails(2, "arm", "thread", f.name, "an-id"); e.Code != coleo.EUnsupported {
		t.Errorf("a switch: %+v", e)
	}
	if e := f.fails(4, "arm", "thread", "nobody"); !strings.Contains(e.Message, `no arm called "nobody"`) {
		t.Errorf("arm thread nobody: %+v", e)
	}
}
