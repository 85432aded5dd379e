package arm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/printable"
	"coleo.dev/workspace/pull"
)

// place is an arm's work folder, in the short form that the user sees.
type place struct {
	folder string // begins with the name of the repository's folder; outside of a repository, the whole path
	branch string // "" outside of a repository
}

// placeOf returns the repository and the branch that the folder dir belongs to. It reads two small
// files and does not run git. Git would follow the repository's configuration, and an arm may have
// changed that configuration.
func placeOf(dir string) place {
	for root := dir; ; root = filepath.Dir(root) {
		head, ok := headOf(filepath.Join(root, ".git"))
		if ok {
			return place{folder: strings.TrimPrefix(dir, filepath.Dir(root)+string(filepath.Separator)), branch: head}
		}
		if root == filepath.Dir(root) {
			return place{folder: homeShort(dir)}
		}
	}
}

// maxHead is the largest size of a file that readSmall reads, in bytes. A file that contains the
// name of a branch is always smaller.
const maxHead = 4 << 10

// headOf returns the name of the branch that is checked out. If no branch is checked out, it
// returns the first characters of the commit id. gitPath is the path of .git. In a worktree, .git
// is not a folder. It is a file that contains the path of the real folder.
func headOf(gitPath string) (string, bool) {
	if text, ok := readSmall(gitPath); ok {
		dir, is := strings.CutPrefix(text, "gitdir: ")
		if !is {
			return "", false
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(gitPath), dir)
		}
		gitPath = dir
	}
	text, ok := readSmall(filepath.Join(gitPath, "HEAD"))
	if !ok {
		return "", false
	}
	if branch, is := strings.CutPrefix(text, "ref: refs/heads/"); is {
		return printable.Line(branch), true
	}
	const commitShown = 8
	return printable.Line(text[:min(len(text), commitShown)]), true
}

func readSmall(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHead {
		return "", false
	}
	raw, err := os.ReadFile(path)
	return strings.TrimSpace(string(raw)), err == nil
}

// homeShort replaces the user's home folder at the start of dir with ~.
func homeShort(dir string) string {
	home, err := os.UserHomeDir()
	if rest, is := strings.CutPrefix(dir, home+string(filepath.Separator)); err == nil && home != "" && is {
		return filepath.Join("~", rest)
	}
	return dir
}

// pullText returns the line about the pull request of an arm. It returns "" if the machine of this
// process knows none.
func pullText(arm string) string {
	s, err := setup.New()
	if err != nil {
		return ""
	}
	r, ok, err := pull.Read(s.Workspaces(), arm)
	if err != nil || !ok || r.Number == 0 {
		return ""
	}
	return fmt.Sprintf("\n%-16s %d into %s: %s", "Pull request:", r.Number, printable.Line(r.Base), printable.Line(r.URL))
}
