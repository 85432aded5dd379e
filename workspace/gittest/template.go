package gittest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

// Template is a stage that a test program makes once and then copies for each test. It saves time,
// because making a repository takes many git commands, but a copy takes at most one.
type Template struct {
	// Fill makes the content of the stage. It must not make git store an absolute path in the stage,
	// such as the URL of a submodule. The copies are in other folders.
	Fill func(*Stage)

	once  sync.Once
	files fstest.MapFS // all files below Root; nil if Fill failed
}

// empty is a template with an empty repository.
var empty = &Template{Fill: func(s *Stage) {
	s.Write(s.Settings(), settings)
	s.Git(s.Root, "init", "-q", s.Repo)
}}

// New returns a copy of the stage.
func (x *Template) New(t testing.TB) *Stage {
	t.Helper()
	x.once.Do(func() {
		s := place(t)
		if x != empty {
			s = New(t)
		}
		x.Fill(s)
		x.files = Content(s, s.Root)
	})
	if x.files == nil {
		t.Fatal("there is no repository to copy: the first test that needs it could not make it")
	}
	s := place(t)
	s.Check(os.CopyFS(s.Root, x.files))
	if _, err := os.Stat(filepath.Join(s.Repo, ".git/index")); err == nil {
		s.Git(s.Repo, "update-index", "-q", "--refresh") // the index has the times of the copied files from now on
	}
	return s
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
		switch info.Mode().Type() {
		case 0:
			file.Data, err = fs.ReadFile(all, path)
		case fs.ModeSymlink:
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
