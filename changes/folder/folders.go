package folder

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"coleo.dev"
)

// literal is a prefix with which git takes a path literally instead of as a pattern.
const literal = ":(literal)"

// Folders returns the folders whose files can appear in a diff: the given folders and everything under them. If no
// folder is given, it returns all folders of the repository. All returned paths are absolute.
//
// Folders omits folders that git ignores, the folder .git, and other repositories, because their files appear in no
// diff. It also omits folders that it cannot read. It returns EUnsupported if there are more than `maxFolders`
// folders.
func (f *Folder) Folders(ctx context.Context, below []string, maxFolders int) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"}
	for _, dir := range below {
		if rel, ok := cutDir(dir, f.Root()); ok && rel != "." {
			args = append(args, literal+rel)
		}
	}
	out, err := f.repo.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if dir, is := strings.CutSuffix(name, "/"); is {
			ignored[filepath.Join(f.Root(), dir)] = true
		}
	}
	if len(below) == 0 {
		below = []string{f.Root()}
	}
	var list []string
	for _, dir := range below {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && d != nil && d.IsDir():
				return fs.SkipDir // the folder cannot be read, so git cannot read it either
			case err != nil || !d.IsDir():
				return ctx.Err()
			case ignored[path] || d.Name() == ".git" || path != f.Root() && exists(filepath.Join(path, ".git")):
				return fs.SkipDir
			case len(list) == maxFolders:
				return coleo.Errorf(coleo.EUnsupported, "%s has more than %d folders", f.Root(), maxFolders)
			}
			list = append(list, path)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// GitFolder returns the folder in which git keeps the index and HEAD of this work folder.
func (f *Folder) GitFolder() string { return f.repo.Git }
