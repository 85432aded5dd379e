package workspace

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/workspace/git"
)

// objectID matches an object id in a text, in the format SHA-1 or SHA-256.
var objectID = regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{40})\b`)

// mostIDs is how many ids of one text are examined. The reflog of a month contains fewer.
const mostIDs = 20_000

// idsIn returns the object ids in a text, each id once. If there are too many, it returns the last ones, which are the
// newest ones in a reflog. It leaves out the id that consists of zeros, with which each reflog begins, because no
// object has this id.
func idsIn(text []byte) []string {
	var ids []string
	seen := map[string]bool{}
	all := objectID.FindAll(text, -1)
	for _, m := range all[max(0, len(all)-mostIDs):] {
		if id := string(m); !seen[id] && strings.Trim(id, "0") != "" {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// typesOf returns the type of each given object that the repository contains.
func typesOf(ctx context.Context, r *git.Repo, ids []string) (map[string]string, error) {
	if types := r.LooseKinds(ids); types != nil {
		return types, ctx.Err()
	}
	types := map[string]string{}
	out, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"},
		Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind != "missing" {
			types[id] = kind
		}
	}
	return types, nil
}

// newestUnreachable returns the newest commits that no ref reaches. It begins at the objects `ids`, and ignores those
// that are neither commits nor tags of commits. A commit is left out if it is an ancestor of another commit in the
// result. `types` is the result of typesOf for `ids`. The caller must open the repository by its common folder.
// Otherwise git would also use the refs that belong to one worktree alone.
func newestUnreachable(ctx context.Context, common *git.Repo, ids []string, types map[string]string) ([]string,
	error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return types[id] != "commit" && types[id] != "tag"
	})
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := common.Run(ctx, git.Call{Args: []string{"rev-list", "--parents", "--stdin", "--not",
		// These refs are removed together with the arm, so a commit that only they contain is not saved.
		"--exclude=refs/coleo/checkpoints/*", "--exclude=refs/coleo/base/*", "--glob=refs/*"},
		Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	var all []string
	parents := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all = append(all, f[0])
		for _, p := range f[1:] {
			parents[p] = true
		}
	}
	return slices.DeleteFunc(all, func(id string) bool { return parents[id] }), nil
}

// replacedCommits returns the newest commits of the worktree's reflog that nothing else contains.
func (s Workspaces) replacedCommits(ctx context.Context, r *git.Repo, w Workspace) ([]string, error) {
	data, _ := git.ReadRegular(filepath.Join(r.Git, "logs", "HEAD"), mostReflog) // if there is no reflog, `data` is empty
	common, err := s.openCommon(ctx, w.Common)
	if err != nil {
		return nil, err
	}
	defer common.Close()
	tip := r.LooseTip() // the branch contains this commit
	ids := slices.DeleteFunc(append(idsIn(data), headsIn(r.Git)...), func(id string) bool { return id == tip })
	types, err := typesOf(ctx, common, ids)
	if err != nil {
		return nil, err
	}
	return newestUnreachable(ctx, common, ids, types)
}

// headsIn returns the ids in files such as ORIG_HEAD. If reflogs are turned off, such a file can be the only
// one that names a commit. headsIn leaves out FETCH_HEAD, because its commits come from another repository.
func headsIn(gitDir string) (ids []string) {
	entries, _ := os.ReadDir(gitDir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_HEAD") || e.Name() == "FETCH_HEAD" {
			continue
		}
		data, _ := git.ReadRegular(filepath.Join(gitDir, e.Name()), mostRef)
		ids = append(ids, idsIn(data)...)
	}
	return ids
}
