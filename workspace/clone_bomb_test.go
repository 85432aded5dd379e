package workspace_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/workspace"
)

// tree makes a tree in a work folder, from lines as git ls-tree prints them.
func (s *stage) tree(work, lines string) string {
	s.Helper()
	command := s.Command(work, "mktree", "--missing")
	command.Stdin = strings.NewReader(lines)
	out, err := command.Output()
	s.Check(err)
	return strings.TrimSpace(string(out))
}

// falseObject makes an object that says that it has many bytes.
func (s *stage) falseObject(w workspace.Workspace, size int64) string {
	s.Helper()
	const id = "1234567890123456789012345678901234567890"
	var object bytes.Buffer
	z := zlib.NewWriter(&object)
	_, err := fmt.Fprintf(z, "blob %d\x00", size)
	s.Check(err)
	s.Check(z.Close())
	s.Write(filepath.Join(w.Git, "objects", id[:2], id[2:]), object.String())
	return id
}

func TestWhatTakesAllMemoryOrDiskIsNotFetchedFromAClone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(s *stage, w workspace.Workspace) (tree string)
		want  string
	}{
		"trees in trees": {func(s *stage, w workspace.Workspace) string {
			const width, depth = 32, 6 // a thousand million files
			tree := s.Git(w.Path, "rev-parse", "HEAD^{tree}")
			for range depth {
				lines := ""
				for n := range width {
					lines += fmt.Sprintf("040000 tree %s\td%02d\n", tree, n)
				}
				tree = s.tree(w.Path, lines)
			}
			return tree
		}, "many millions of files"},
		"one huge file": {func(s *stage, w workspace.Workspace) string {
			return s.tree(w.Path, "100644 blob "+s.falseObject(w, 3<<30)+"\tfile\n")
		}, "are too large"},
		"one file many times": {func(s *stage, w workspace.Workspace) string {
			const size, times = 1 << 20, 1 << 15
			s.Write(w.Path+"/big", strings.Repeat("x", size))
			var lines strings.Builder
			for blob, n := s.Git(w.Path, "hash-object", "-w", "big"), 0; n < times; n++ {
				fmt.Fprintf(&lines, "100644 blob %s\t%05d\n", blob, n)
			}
			return s.tree(w.Path, lines.String())
		}, "adds files of 31 GB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			w := s.made("fix", clone)
			s.Git(w.Path, "update-ref", "HEAD", s.Git(w.Path, "commit-tree", "-p", "HEAD", "-m", "x", c.plant(s, w)))
			_, err := s.trees.FetchWork(t.Context(), w)
			if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			if tip := s.Git(s.Repo, "rev-parse", w.Branch); tip != w.Start {
				t.Errorf("the branch is at %s", tip)
			}
		})
	}
}

// The largest real repositories have hundreds of thousands of files. Coleo must still fetch a commit with so
// many files.
func TestACommitWithHundredsOfThousandsOfFilesIsFetched(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := s.made("fix", clone)
	const width, depth = 64, 3
	tree := s.Git(w.Path, "rev-parse", "HEAD^{tree}")
	for range depth {
		var lines strings.Builder
		for n := range width {
			fmt.Fprintf(&lines, "040000 tree %s\td%02d\n", tree, n)
		}
		tree = s.tree(w.Path, lines.String())
	}
	head := s.Git(w.Path, "commit-tree", "-p", "HEAD", "-m", "x", tree)
	s.Git(w.Path, "update-ref", "HEAD", head)
	if got, err := s.trees.FetchWork(t.Context(), w); err != nil || got != head {
		t.Errorf("the branch is at %s, %v", got, err)
	}
}

// An arm can put a huge file without data into the git folder of its clone, because such a file takes no disk
// space. Git would read some of these files into memory, so Coleo must refuse them.
func TestAHugeFileInTheGitFolderOfACloneIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HEAD", "packed-refs", "shallow", "refs/heads/coleo/fix", "rebase-merge/head-name"} {
		s := newStage(t)
		w := s.made("fix", clone)
		s.Append(filepath.Join(w.Git, name), "")
		s.Check(os.Truncate(filepath.Join(w.Git, name), 1<<40))
		_, err := s.trees.CloneOf(t.Context(), w.Path)
		if coleo.ErrorCode(err) != coleo.EConflict || !strings.Contains(err.Error(), name+" has more than") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
