package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/paths"
	"coleo.dev/wholefile"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/script"
)

// mostMade is how many ignored files Coleo remembers after a set-up. A large node_modules has 200,000
// files. Files beyond this number count as unsaved.
const mostMade = 300_000

// setupOf returns the set-up script that must run for a planned worktree, or nil. The worktree need not exist yet.
// For a new branch, the script comes from the commit at which the branch begins.
//
// For an existing branch or a pull request, the script comes from the commit that is checked out in the user's work
// folder. It does not come from that branch, because an arm or a stranger may have written it.
func (s Workspaces) setupOf(ctx context.Context, r *git.Repo, w Workspace, o Order) (*script.Script, error) {
	if o.NoSetup {
		return nil, nil
	}
	base := w.Start
	if !w.MadeBranch || w.Pull > 0 {
		var err error
		if base, err = commitOf(ctx, r, "HEAD"); err != nil {
			return nil, err
		}
	}
	setup, found, err := script.Read(ctx, r, base, script.Setup)
	if err == nil && !found {
		return nil, nil
	}
	if err == nil {
		err = s.Scripts.Trusts.Require(setup)
	}
	if err == nil {
		err = setup.SameIn(ctx, r, w.Start)
	}
	if err != nil {
		return nil, coleo.Errorf(coleo.ErrorCode(err), "%w; nothing was made; --no-setup leaves the set-up out", err)
	}
	return &setup, nil
}

// setUp runs the set-up script in a new worktree. Then it stores which ignored files exist.
func (s Workspaces) setUp(ctx context.Context, setup *script.Script, w *Workspace) error {
	if setup == nil {
		return nil
	}
	tree, err := s.OpenTree(ctx, *w)
	if err != nil {
		return err
	}
	defer tree.Close()
	if s.Tell != nil {
		s.Tell(*w, SettingUp)
	}
	err = s.Scripts.Run(ctx, script.Start{Script: *setup, Dir: w.Path, Output: s.SetupOutput(w.ID),
		Mark: script.MarkOf(w.ID),
		Held: s.held, Env: []string{"COLEO_WORKTREE=" + w.Path, "COLEO_FROM=" + w.From, "COLEO_BRANCH=" + w.Branch}})
	if err != nil {
		return coleo.Errorf(coleo.ErrorCode(err), "%w\nthe worktree was removed again; --no-setup leaves the set-up out", err)
	}
	return s.rememberMade(ctx, tree, *w)
}

// rememberMade stores which ignored files a new worktree contains. The set-up has made these files, or
// Coleo has copied or linked them.
func (s Workspaces) rememberMade(ctx context.Context, tree *git.Repo, w Workspace) error {
	u := Unsaved{}
	head, err := findCommit(ctx, tree, "HEAD")
	if err == nil {
		err = errors.Join(s.unsavedFiles(ctx, tree, head, w, &u), s.unsavedSubmodules(ctx, tree, head, w, &u))
	}
	if err != nil {
		return err
	}
	for _, sub := range u.Submodules {
		for _, name := range sub.Unsaved.Ignored {
			u.Ignored = append(u.Ignored, sub.Path+"/"+name)
		}
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	made := map[string]string{}
	for _, name := range u.Ignored[:min(len(u.Ignored), mostMade)] {
		if made[name], err = stateOf(root, name); err != nil {
			return fmt.Errorf("remember what the set-up has made: %w", err)
		}
	}
	data, err := json.Marshal(made)
	if err != nil {
		return err
	}
	return wholefile.Replace(s.madePath(w.ID), data, wholefile.OwnerOnly)
}

// madePath returns the path of the list of files that the set-up has made.
func (s Workspaces) madePath(id string) string { return filepath.Join(s.Dir, id+".made.json") }

// SetupOutput returns the path of the file with the output of an arm's set-up. After a failed set-up, the
// file is kept for outputAge.
func (s Workspaces) SetupOutput(id string) string { return filepath.Join(s.Dir, id+setupSuffix) }

const setupSuffix = ".setup.txt"

// stateOf describes a file in one text: its type, size and modification time, or the target of a link. If the name
// ends with a slash, it is the folder of another repository, whose files git does not list. The text then describes
// all files in the folder.
func stateOf(root *os.Root, name string) (string, error) {
	if strings.HasSuffix(name, "/") {
		return stateOfAll(root, strings.TrimSuffix(name, "/"))
	}
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		return "link to " + target, err
	}
	return fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano()), nil
}

// stateOfAll describes all files in a folder in one text.
func stateOfAll(root *os.Root, folder string) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(root.FS(), folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		state, err := stateOf(root, path)
		fmt.Fprintf(sum, "%q %s\n", path, state)
		return err
	})
	return fmt.Sprintf("folder %x", sum.Sum(nil)), err
}

// asMade returns a function that reports whether an ignored file is unchanged since the end of the set-up.
// If there is no list of the set-up's files, the function always returns false.
func (s Workspaces) asMade(w Workspace, root *os.Root) func(name string) bool {
	made := map[string]string{}
	if data, err := os.ReadFile(s.madePath(w.ID)); err == nil {
		_ = json.Unmarshal(data, &made)
	}
	return func(name string) bool {
		was, ok := made[name]
		now, err := stateOf(root, name)
		return ok && err == nil && now == was
	}
}

// outputAge is how long the output of a set-up is kept after the worktree is gone.
const outputAge = 7 * 24 * time.Hour

// pruneOutputs deletes the old outputs of set-ups whose worktrees are gone.
func (s Workspaces) pruneOutputs() {
	files, _ := filepath.Glob(filepath.Join(paths.Quote(s.Dir), "*"+setupSuffix))
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), setupSuffix)
		info, err := os.Lstat(file)
		if err == nil && !exists(s.recordPath(id)) && s.Now().Sub(info.ModTime()) > outputAge {
			os.Remove(file)
		}
	}
}

// endScript ends the processes of a set-up script that are still running after a kill of Coleo.
func (s Workspaces) endScript(w Workspace) error {
	if w.Status != Making {
		return nil
	}
	return script.Sweep(w.ID)
}
