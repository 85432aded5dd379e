package folder_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev/changes/folder"
	"coleo.dev/workspace/gittest"
)

// TestTheCopyOfAnIndexHasTheTreesOfGit compares the trees in the copy with those that git itself has written.
func TestTheCopyOfAnIndexHasTheTreesOfGit(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "4"} {
			t.Run(format+" in version "+version, func(t *testing.T) {
				t.Parallel()
				s := newTrees(t, format)
				s.git("update-index", "--index-version", version)
				s.git("write-tree")
				git, ours := s.both()
				if fmt.Sprint(git) != fmt.Sprint(ours) {
					t.Errorf("git's trees are\n%v\nthose of the copy\n%v", git, ours)
				}
			})
		}
	}
}

// Some entries of an index cannot be in a commit, for example a conflict. The folders above such an entry must
// have no tree in the copy of the index, so that git compares their files one by one.
func TestAFolderThatNoCommitCanHaveHasNoTree(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s treesStage){
		"a file without content": func(s treesStage) {
			s.Write("a/b/new", "x")
			s.git("add", "-N", "a/b/new")
		},
		"a conflict": func(s treesStage) {
			id := strings.Fields(s.git("ls-files", "--stage", "a/b/c"))[1]
			s.pipe("0 "+strings.Repeat("0", len(id))+"\ta/b/c\n100644 "+id+" 1\ta/b/c\n100644 "+id+" 2\ta/b/c\n",
				"update-index", "--index-info")
		},
		"an unknown mode": func(s treesStage) {
			s.edit(func(index []byte) {
				at := bytes.Index(index, []byte("a/b/c\x00")) - 62 // the length of what precedes a name
				binary.BigEndian.PutUint32(index[at+24:], 0o100664)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTrees(t, "sha1")
			_, before := s.both()
			change(s)
			_, after := s.both()
			for path, was := range before {
				is, hasFile := after[path], path == "" || path == "a" || path == "a/b"
				if hasFile && is != "-1" || !hasFile && is != was {
					t.Errorf("the tree of %q was %q and is %q", path, was, is)
				}
			}
		})
	}
}

// git does not check whether the entries of an index are sorted. If they are not, Coleo's copy of the index
// must contain no trees.
func TestAnUnsortedIndexHasNoTrees(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]byte){
		"unsorted":        func(index []byte) { rename(index, "a/b/c", "z/b/c") },
		"twice the same":  func(index []byte) { rename(index, "a-b", "a") },
		"an empty folder": func(index []byte) { rename(index, "a/b.c", "a//bc") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTrees(t, "sha1")
			s.edit(change)
			if _, ours := s.both(); ours != nil {
				t.Errorf("the trees are %v", ours)
			}
		})
	}
}

// rename replaces the name `from` in the index by the name `to`, which must not be longer.
func rename(index []byte, from, to string) {
	at := bytes.Index(index, []byte(from+"\x00"))
	copy(index[at:at+len(from)], to+strings.Repeat("\x00", len(from)-len(to)))
	index[at-1] = byte(len(to))
}

// treesStage is a repository with names that are easy to sort wrongly, such as "a/b", "a-b" and "a.b".
type treesStage struct {
	*gittest.Stage
	format string
}

func newTrees(t *testing.T, format string) treesStage {
	t.Helper()
	s := treesStage{gittest.New(t), format}
	s.Check(os.RemoveAll(filepath.Join(s.Repo, ".git")))
	s.git("init", "-q", "-b", "main", "--object-format="+format)
	for _, name := range []string{"a/b/c", "a/b.c", "a-b", "a.b", "a0", "a/bc/d/e/f", "b/b/c", "longer name/x/y",
		"é/ü", "a\"\n/x"} {
		s.Write(name, "text of "+name)
	}
	s.Check(os.Chmod(filepath.Join(s.Repo, "a/b/c"), 0o755))
	s.Check(os.Symlink("a", filepath.Join(s.Repo, "link")))
	s.git("add", "-A")
	s.git("write-tree")
	return s
}

func (s treesStage) git(args ...string) string {
	s.Helper()
	return s.Git(s.Repo, args...)
}

func (s treesStage) pipe(input string, args ...string) {
	s.Helper()
	cmd := s.Command(s.Repo, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (s treesStage) index() []byte {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.Repo, ".git/index"))
	s.Check(err)
	return data
}

// edit changes the bytes of the index.
func (s treesStage) edit(change func([]byte)) {
	s.Helper()
	data := s.index()
	change(data)
	s.Check(os.WriteFile(filepath.Join(s.Repo, ".git/index"), data, 0o600))
}

// both returns the trees in the index, and in its copy.
func (s treesStage) both() (git, ours map[string]string) {
	s.Helper()
	root, err := os.OpenRoot(s.Repo)
	s.Check(err)
	defer root.Close()
	data := s.index()
	copied, err := folder.CleanIndex(data, s.format, root)
	s.Check(err)
	size := map[string]int{"sha1": 20, "sha256": 32}[s.format]
	return s.list(data, size), s.list(copied, size)
}

// list returns the trees of an index: the number of files and the id, by the path of the folder. It returns nil if
// the index has none.
func (s treesStage) list(index []byte, size int) map[string]string {
	s.Helper()
	if !bytes.Contains(index, []byte("TREE")) {
		return nil
	}
	const head = 8
	rest, out := part(index, "TREE")[head:], map[string]string{}
	var read func(above string)
	read = func(above string) {
		name, after, _ := bytes.Cut(rest, []byte{0})
		counts, after, _ := bytes.Cut(after, []byte("\n"))
		files, subs, _ := strings.Cut(string(counts), " ")
		path, id := strings.TrimPrefix(above+"/"+string(name), "/"), ""
		if files != "-1" {
			id, after = " "+hex.EncodeToString(after[:size]), after[size:]
		}
		rest, out[path] = after, files+id
		n, err := strconv.Atoi(subs)
		s.Check(err)
		for range n {
			read(path)
		}
	}
	read("")
	return out
}
