package gittest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// File describes the file, folder or symbolic link at one path.
type File struct {
	Mode    fs.FileMode
	Content string // content of a regular file, or target of a symbolic link
}

// Files returns all files and folders below `dir`, by their paths relative to `dir`. It skips the git folder of the
// main work folder, and the file .git of a worktree.
func (s *Stage) Files(dir string) map[string]File {
	s.Helper()
	files := map[string]File{}
	s.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		switch name := filepath.Join(dir, ".git"); {
		case path == name && dir == s.Repo:
			return fs.SkipDir
		case path == name && !d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			files[rel], err = read(path)
		}
		return err
	}))
	return files
}

// WorkFiles is like Files, but also skips the git folder of a clone.
func (s *Stage) WorkFiles(dir string) map[string]File {
	s.Helper()
	files := s.Files(dir)
	maps.DeleteFunc(files, func(name string, _ File) bool {
		return name == ".git" || strings.HasPrefix(name, ".git"+string(filepath.Separator))
	})
	return files
}

func read(path string) (File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return File{}, err
	}
	f := File{Mode: info.Mode()}
	switch {
	case f.Mode.IsRegular():
		var content []byte
		content, err = os.ReadFile(path)
		f.Content = string(content)
	case f.Mode&fs.ModeSymlink != 0:
		f.Content, err = os.Readlink(path)
	}
	return f, err
}

// owned lists the files of the git folder that Coleo must not change, because Coleo never works in
// the person's work folder.
var owned = []string{"index", "HEAD", "config", "logs/refs/stash"}

// Owned returns what belongs to the person in the repository's git folder. These are the files in the list `owned`,
// and the commits to which the branch main and the newest stash point.
func (s *Stage) Owned() map[string]File {
	s.Helper()
	common := filepath.Join(s.Repo, ".git")
	files := map[string]File{"refs": {Content: readRef(common, "refs/heads/main") + " " + readRef(common, "refs/stash")}}
	for _, name := range owned {
		f, err := read(filepath.Join(s.Repo, ".git", name))
		if os.IsNotExist(err) {
			continue
		}
		s.Check(err)
		files[filepath.Join(".git", name)] = f
	}
	return files
}

// Person returns everything that belongs to the person: the files of the main work folder, and the
// result of Owned.
func (s *Stage) Person() map[string]File {
	s.Helper()
	files := s.Files(s.Repo)
	maps.Copy(files, s.Owned())
	return files
}

// Same fails the test for each difference between two sets of files. It returns true if there is none. `what`
// describes the files in the messages of the test.
func (s *Stage) Same(what string, got, want map[string]File) bool {
	s.Helper()
	if maps.Equal(got, want) {
		return true
	}
	for name, file := range want {
		if now, ok := got[name]; !ok {
			s.Errorf("%s: %q is missing", what, name)
		} else if now != file {
			s.Errorf("%s: %q is %v %.60q, want %v %.60q", what, name, now.Mode, now.Content, file.Mode, file.Content)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			s.Errorf("%s: %q is there, and should not be", what, name)
		}
	}
	return false
}
