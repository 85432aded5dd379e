package gittest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// Template is a stage that a test program makes once and then copies for each test. It saves time,
// because making a repository takes many git commands, but a copy takes at most one.
type Template struct {
	// Of is the template of which Fill gets a copy. If it is nil, Fill gets an empty repository.
	Of *Template
	// Fill makes the content of the stage, and runs only once. Each copy is in another folder. So if git stores a path
	// of the stage, that path is wrong in a copy. Moves corrects such paths.
	Fill func(*Stage)
	// Moves changes the content of each copy. The path of the template's folder becomes that of the copy, and the ids of
	// the template's arms become those of the copy's arms. Paths from the template Of do not change.
	Moves bool

	once  sync.Once
	root  string       // the folder in which Fill made the content
	files fstest.MapFS // all files below root; nil if Fill failed
}

// empty is a template with an empty repository.
var empty = &Template{Fill: func(s *Stage) {
	s.Write(s.Settings(), settings)
	s.Git(s.Root, "init", "-q", s.Repo)
	samples, err := filepath.Glob(filepath.Join(s.Repo, ".git/hooks/*.sample"))
	s.Check(err)
	for _, path := range samples { // remove git's examples of hooks, which no copy needs
		s.Check(os.Remove(path))
	}
}}

// New returns a copy of the stage.
func (x *Template) New(t testing.TB) *Stage {
	t.Helper()
	x.once.Do(func() {
		var s *Stage
		switch {
		case x == empty:
			s = place(t)
		case x.Of != nil:
			s = x.Of.New(t)
		default:
			s = New(t)
		}
		x.Fill(s)
		x.root, x.files = s.Root, Content(s, s.Root)
	})
	if x.files == nil {
		t.Fatal("there is no repository to copy: the first test that needs it could not make it")
	}
	s := place(t)
	files := x.files
	if x.Moves {
		files = moveFolder(files, x.root, s.Root)
	}
	s.Check(lay(s.Root, files))
	if _, err := os.Stat(filepath.Join(s.Repo, ".git/index")); err == nil {
		s.Git(s.Repo, "update-index", "-q", "--refresh") // stores the times of the copied files in the index
	}
	return s
}

// lay makes the files in a folder. It takes less time than os.CopyFS, which needs a buffer of 32 kB for each file.
func lay(dir string, files fstest.MapFS) error {
	for _, name := range slices.Sorted(maps.Keys(files)) { // a folder comes before its content
		path, file := filepath.Join(dir, name), files[name]
		var err error
		switch {
		case file.Mode.IsDir():
			err = os.MkdirAll(path, 0o777)
		case file.Mode&fs.ModeSymlink != 0:
			err = os.Symlink(string(file.Data), path)
		default:
			err = os.WriteFile(path, file.Data, 0o666|file.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moveFolder returns the files of a stage for another folder. It replaces the path `from` by the path `to`, and the
// ids of the stage's arms, in all names and contents.
func moveFolder(files fstest.MapFS, from, to string) fstest.MapFS {
	replacer := strings.NewReplacer(from, to, mark(from), mark(to))
	out := fstest.MapFS{}
	for name, file := range files {
		out[replacer.Replace(name)] = &fstest.MapFile{Mode: file.Mode, Data: []byte(replacer.Replace(string(file.Data)))}
	}
	return out
}

// Content returns all files below a folder, so that os.CopyFS can copy them when the folder is gone.
func Content(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	all, files := os.DirFS(dir), fstest.MapFS{}
	err := fs.WalkDir(all, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		file := &fstest.MapFile{Mode: info.Mode()}
		if info.Mode().IsRegular() {
			file.Data, err = fs.ReadFile(all, path)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			var target string
			target, err = fs.ReadLink(all, path)
			file.Data = []byte(target)
		}
		files[path] = file
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
