package workspace

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/remote"
)

// fetchTime is the time limit for fetching a pull request. Over a slow connection, its commits take
// minutes.
const fetchTime = 10 * time.Minute

// pullBranch matches a branch name that stands for a pull request.
var pullBranch = regexp.MustCompile(`^pr/([1-9][0-9]{0,8})$`)

// pullNumber returns the number of the pull request that a branch name stands for, or 0 if there is
// none.
func pullNumber(branch string) int {
	found := pullBranch.FindStringSubmatch(branch)
	if found == nil {
		return 0
	}
	number, _ := strconv.Atoi(found[1])
	return number
}

// fromPull fetches the head of a pull request and sets w.Start to it. It makes no ref, and leaves the new branch to
// its caller. It fetches from the remote of the branch w.Onto. If that branch has no remote, fromPull uses the remote
// origin, or else the only remote. It returns ENotFound if the remote has no such pull request.
func (s Workspaces) fromPull(ctx context.Context, r *git.Repo, o Order, w *Workspace) error {
	number := pullNumber(o.Branch)
	if o.Base != "" {
		return coleo.Errorf(coleo.EInvalid, "the branch %s begins at the head of pull request %d, so --base %s "+
			"would "+
			"have no effect: leave it out", o.Branch, number, o.Base)
	}
	name, address, err := remote.Of(r, w.Onto)
	var at remote.Place
	if err == nil {
		at, err = remote.PlaceOf(address)
	}
	if err != nil {
		return fmt.Errorf("pull request %d cannot be fetched, so nothing was made: %w", number, err)
	}
	shown := shownName(name) + " (" + shownName(remote.WithoutPassword(address)) + ")"
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for _, ref := range pullRefs(at.Host, number) {
		w.Start, err = r.Fetch(ctx, git.Fetch{URL: address, Ref: ref, Environ: s.Environ})
		if err == nil {
			w.Pull = number
			w.Notes = append(w.Notes, fmt.Sprintf("the branch %s begins at pull request %d of %s", o.Branch, number, shown))
			return nil
		}
		if coleo.ErrorCode(err) != coleo.ENotFound {
			return fmt.Errorf("pull request %d could not be fetched from %s, so nothing was made: %w; your own git can "+
				"fetch %s into a branch %s", number, shown, err, ref, o.Branch)
		}
	}
	return coleo.Errorf(coleo.ENotFound, "%s has no pull request %d: nothing was made; for a new branch, choose a name "+
		"other than pr/NUMBER", shown, number)
}

// pullRefs returns the refs under which a host can have the head of a pull request. GitHub, Gitea and Forgejo use
// refs/pull/NUMBER/head. GitLab uses refs/merge-requests/NUMBER/head.
func pullRefs(host string, number int) []string {
	pull, merge := fmt.Sprintf("refs/pull/%d/head", number), fmt.Sprintf("refs/merge-requests/%d/head", number)
	switch {
	case strings.Contains(host, "github"):
		return []string{pull}
	case strings.Contains(host, "gitlab"):
		return []string{merge}
	}
	return []string{pull, merge}
}
