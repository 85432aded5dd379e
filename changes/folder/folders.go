package folder

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"coleo.dev"
)

// literal makes git take a path as it is, and not as a pattern.
const literal = ":(literal)"

// Folders returns the folders whose files can be in a diff. The result contains the given folders
// and all folders below them. If no folders are given, the result contains all folders of the
// repository. All paths are absolute.
//
// A diff contains no files of the folders that git ignores, of the folder .git and of other
// repositories. Folders leaves out these folders, and folders that it cannot read. It returns
// EUnsupported if there are more than maxFolders folders.
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
				return fs.SkipDir // it cannot be read, so git cannot read it either
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
