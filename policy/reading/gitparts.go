package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// checkRepository refuses a repository that has parts in other folders. It also refuses a folder that git does
// not accept as a repository, because git would then use a repository in a folder above.
func (w Workspace) checkRepository(path string) (string, error) {
	for _, part := range []string{"", "config", "HEAD", "objects", "objects/pack", "objects/info", "refs", "refs/heads",
		"packed-refs", "index"} {
		full := filepath.Join(path, part)
		if resolved, err := w.Machine.Resolve(full); err != nil || resolved != full || w.Machine.Special(full) != "" {
			return "", fmt.Errorf("%s is not a plain part of a repository", full)
		}
	}
	for _, part := range []string{"", "objects", "refs"} {
		if full := filepath.Join(path, part); !w.Machine.IsFolder(full) {
			return "", fmt.Errorf("%s is not a folder", full)
		}
	}
	if head, err := w.Machine.Text(filepath.Join(path, "HEAD")); err != nil || !plainHead.MatchString(head) {
		return "", fmt.Errorf("%s is not the HEAD of a repository", filepath.Join(path, "HEAD"))
	}
	for _, elsewhere := range []string{"commondir", "objects/info/alternates", "gitdir", "config.worktree"} {
		if w.exists(filepath.Join(path, elsewhere)) {
			return "", fmt.Errorf("%s leads elsewhere", filepath.Join(path, elsewhere))
		}
	}
	for _, part := range filesBeside {
		if err := w.plainOrMissing(filepath.Join(path, part)); err != nil {
			return "", err
		}
	}
	if err := w.noReplacements(path); err != nil {
		return "", err
	}
	left := mostParts
	return path, w.plainBelow(path, path, &left)
}

// plainHead matches the content of the file HEAD of a repository.
var plainHead = regexp.MustCompile(`^(ref: refs/\S+|[0-9a-f]{40}|[0-9a-f]{64})\n?$`)

// filesBeside lists the files that git reads beside the folder .git. The paths are relative to
// .git.
var filesBeside = strings.Fields(`../.mailmap ../.gitattributes ../.gitmodules`)

// noReplacements refuses a repository with refs/replace, because git then shows objects other than the named
// ones.
func (w Workspace) noReplacements(path string) error {
	packed, err := w.Machine.Text(filepath.Join(path, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.Contains(packed, " refs/replace/") || w.exists(filepath.Join(path, "refs/replace")) {
		return fmt.Errorf("%s replaces objects by others", path)
	}
	return nil
}

// mostParts is the largest number of files in the folder .git. Checking more would take too long. Git's own
// folders stay small, because git packs many objects and many tags into one file.
const mostParts = 20_000

// plainBelow refuses a repository that has links or pipes below dir. Git would open the target of a link,
// because git can read any file below .git as a ref. *left is the number of files that may still be checked.
func (w Workspace) plainBelow(repository, dir string, left *int) error {
	names, err := w.Machine.Names(dir)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be read: %v", dir, err)
	}
	for _, name := range names {
		if *left--; *left < 0 {
			return fmt.Errorf("the repository has more than %d files", mostParts)
		}
		path := filepath.Join(dir, name)
		if err := w.plainPart(repository, path); err != nil {
			return err
		}
		if !w.Machine.IsFolder(path) {
			continue
		}
		if err := w.plainBelow(repository, path, left); err != nil {
			return err
		}
	}
	return nil
}

// plainPart refuses a part of a repository that is neither a plain file nor a folder. It makes two exceptions.
// An object can be a hard link, because a clone of a folder shares the folder's objects. A hook can be a link to
// a readable file of the workspace.
func (w Workspace) plainPart(repository, path string) error {
	part := strings.TrimPrefix(path, repository+"/")
	names := strings.Split(part, "/")
	switch {
	case strings.HasPrefix(part, "sharedindex."):
		return fmt.Errorf("git would change the time of %s", path)
	case names[0] == "hooks" && w.isReadableFile(path):
		return nil
	case len(names) == 3 && names[0] == "worktrees" && names[2] == "commondir":
		if text, err := w.Machine.Text(path); err != nil || strings.TrimSpace(text) != "../.." {
			return fmt.Errorf("%s leads elsewhere", path)
		}
	case (names[0] == "objects" || names[0] == "modules") && w.Machine.Special(path) == isHardLink:
		return nil
	}
	return w.plainOrMissing(path)
}

func (w Workspace) isReadableFile(path string) bool {
	resolved, err := w.readable(filepath.Dir(path), path)
	return err == nil && !w.Machine.IsFolder(resolved)
}

// plainOrMissing refuses a path unless it is a plain file, a folder, or missing.
func (w Workspace) plainOrMissing(path string) error {
	resolved, err := w.Machine.Resolve(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || resolved != path || w.Machine.Special(path) != "" {
		return fmt.Errorf("%s is neither a plain file nor a folder", path)
	}
	return nil
}
