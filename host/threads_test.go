package host

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
)

// CODEX_HOME names the folder in which the user's Codex keeps its conversations. The list must contain them.
func TestThreadsAreListedInTheFolderThatAVariableNames(t *testing.T) {
	t.Parallel()
	const id = "01a20a40-6c87-7df3-a5c4-754f040a734d"
	s := newStage(t)
	folder := s.path("codex")
	s.host.Environ = []string{"HOME=" + t.TempDir(), "CODEX_HOME=" + folder}
	day := filepath.Join(folder, "sessions", "2026", "11", "23")
	s.check(os.MkdirAll(day, 0o700))
	line := `{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/w","source":"cli"}}` + "\n"
	s.check(os.WriteFile(filepath.Join(day, "rollout-2026-11-23T21-12-04-"+id+".jsonl"), []byte(line), 0o600))
	got, err := s.host.listThreads(t.Context(), coleo.ThreadFilter{Harness: "codex"})
	s.check(err)
	if list := got.(coleo.ThreadList).Threads; len(list) != 1 || list[0].ID != id || list[0].Home != "" {
		t.Errorf("the threads are %+v, want one, %s, in the user's own HOME", list, id)
	}
}
