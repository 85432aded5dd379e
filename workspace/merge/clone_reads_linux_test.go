package merge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/changes"
)

// note is a filter of the person. It records in which folder git update-index reads a file.
const note = `#!/bin/sh
cat
parent=$(awk '/^PPid/ { print $2 }' /proc/$PPID/status)
if cat /proc/$PPID/cmdline /proc/$parent/cmdline | tr '\0' ' ' | grep -q update-index; then pwd >> FILE; fi
`

// Git follows a link that replaces a file at the moment of reading. So git must read copies of a clone's files,
// and never the files themselves.
func TestGitStoresCopiesOfTheFilesOfAClone(t *testing.T) {
	t.Parallel()
	s, w := newArm(t, true)
	script, marks := filepath.Join(s.Root, "note"), filepath.Join(s.Root, "folders")
	s.Write(script, strings.ReplaceAll(note, "FILE", marks))
	s.Check(os.Chmod(script, 0o755))
	s.Git(s.Root, "config", "--global", "filter.note.clean", script)
	s.Write(filepath.Join(w.Path, ".gitattributes"), "dir/* filter=note\n")
	s.Write(filepath.Join(w.Path, "dir/.gitattributes"), "run -filter\n")
	s.Write(filepath.Join(w.Path, "dir/a"), "first\n")
	s.Write(filepath.Join(w.Path, "dir/run"), "#!/bin/sh\n")
	s.Check(os.Chmod(filepath.Join(w.Path, "dir/run"), 0o755))
	s.Check(os.Symlink("a", filepath.Join(w.Path, "dir/link")))
	_, err := s.merge(w, changes.MergeRequest{Way: changes.WayCommit, Commit: "x"})
	s.Check(err)
	data, err := os.ReadFile(marks)
	if folders := strings.Fields(string(data)); err != nil || len(folders) != 2 || strings.Contains(string(data), w.Path) {
		t.Errorf("git has read the files in %q, %v", folders, err)
	}
	if out := s.Git(w.Path, "status", "--porcelain"); out != "" {
		t.Errorf("after the commit, the clone has %q", out)
	}
	if out := s.Git(w.Path, "ls-tree", "HEAD", "dir/"); strings.Count(out, "100644") != 2 ||
		!strings.Contains(out, "100755 ") || !strings.Contains(out, "120000 ") {
		t.Errorf("the commit has\n%s", out)
	}
}
