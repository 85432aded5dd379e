package pull

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/git"
	"coleo.dev/workspace/remote"
)

// OpenOptions contains the options of Open.
type OpenOptions struct {
	Title string // if "", Open writes it from the commits
	Body  string // if "", Open writes it from the commits
	Base  string // if "", Open uses the branch from which the worktree was made
	Draft bool
}

// Opened is the result of Open.
type Opened struct {
	Record
	// Push is git's word for the result of the push, such as "new branch".
	Push string `json:"push"`
	// Made is true if Open has made the pull request, and false if Open has only pushed commits to an existing
	// one.
	Made bool `json:"made"`
}

const (
	// pushTime is the time limit of a push. Over a slow connection, pushing a large repository takes minutes.
	pushTime = 10 * time.Minute
	// bodyCommits is how many commits the body lists, if the user gives no body.
	bodyCommits = 50
	heads       = "refs/heads/"
)

// Open pushes the branch of an arm's worktree, and makes a pull request of it. If the branch already has an open
// pull request, Open only pushes. Each error states whether the branch was pushed.
//
// Open returns EConflict if the worktree has uncommitted work, if the branch has no new commit, or if the
// repository has no remote. It returns ENotInstalled if neither gh nor glab can call the remote's host.
func Open(ctx context.Context, trees workspace.Workspaces, w workspace.Workspace, options OpenOptions) (Opened, error) {
	unlock, err := lock(trees.Dir, w.ID)
	if err != nil {
		return Opened{}, err
	}
	defer unlock()
	r, err := trees.OpenRepository(ctx, w)
	if err != nil {
		return Opened{}, err
	}
	defer r.Close()
	p := proposal{trees: trees, arm: w, repo: r, options: options}
	if err := p.prepare(ctx); err != nil {
		return Opened{}, err
	}
	return p.open(ctx)
}

// proposal contains the data of one call of Open.
type proposal struct {
	trees   workspace.Workspaces
	arm     workspace.Workspace
	repo    *git.Repo
	options OpenOptions

	before Record // the record of an earlier call; its Number is 0 if there was no pull request
	record Record
	name   string // the name of the remote
	place  remote.Place
	forge  forge
	commit string   // the tip of the branch, which is pushed
	titles []string // subjects of the new commits, newest first
}

// prepare checks everything that can be checked before the push.
func (p *proposal) prepare(ctx context.Context) (err error) {
	if p.record, _, err = Read(p.trees.Dir, p.arm.ID); err != nil {
		return err
	}
	p.before = p.record
	p.record.Arm, p.record.Repo = p.arm.ID, p.arm.Repo
	branch, err := p.trees.CommittedBranch(ctx, p.arm)
	if err != nil {
		return err
	}
	base := p.options.Base
	if base == "" && p.before.Number != 0 {
		base = p.before.Base
	}
	// The base of an earlier call counts only if that call made a pull request.
	if base == "" {
		base = p.arm.Onto
	}
	switch base {
	case "":
		return coleo.Errorf(coleo.EInvalid, "Coleo does not know from which branch the worktree of arm %s was made: "+
			"nothing was pushed; name a branch with --base", p.arm.Name)
	case branch:
		return coleo.Errorf(coleo.EConflict, "arm %s works on the branch %s itself: "+
			"nothing was pushed; name another branch with --base", p.arm.Name, branch)
	}
	for _, name := range []string{base, branch} {
		if !p.repo.CanBeBranch(ctx, name) {
			return coleo.Errorf(coleo.EInvalid, "%s cannot name a branch: nothing was pushed", oneLine(name))
		}
	}
	name, address, err := remote.Of(p.repo, base)
	if err != nil {
		return fmt.Errorf("nothing was pushed: %w", err)
	}
	if err := p.checkOwn(ctx, name, branch); err != nil {
		return err
	}
	if p.record.Remote != "" && p.record.Remote != address {
		return coleo.Errorf(coleo.EConflict, "the branch was pushed to %s before, and the remote is now %s: nothing was "+
			"pushed, because an arm can change the remote; 'git remote set-url' sets it back",
			oneLine(remote.WithoutPassword(p.record.Remote)), oneLine(remote.WithoutPassword(address)))
	}
	if p.place, err = remote.PlaceOf(address); err != nil {
		return fmt.Errorf("nothing was pushed: %w", err)
	}
	p.name, p.record.Remote, p.record.Branch, p.record.Base = name, address, branch, base
	if err := p.commits(ctx); err != nil {
		return err
	}
	program, err := findProgram(ctx, p.trees.Environ, p.place.Host)
	if err != nil {
		return err
	}
	p.record.Program, p.forge = program.name, forgeOf(program, p.place)
	return nil
}

// checkOwn refuses a branch that the remote already has, with two exceptions: the worktree was made for this branch,
// or Coleo itself has pushed it. An arm can check out any branch, and a push would change that branch for everybody
// without a pull request.
func (p *proposal) checkOwn(ctx context.Context, remote, branch string) error {
	if branch == p.arm.Branch || branch == p.before.Branch {
		return nil
	}
	_, err := p.repo.Output(ctx, "rev-parse", "--verify", "--quiet", "refs/remotes/"+remote+"/"+branch)
	if err != nil {
		return nil //nolint:nilerr // as far as this repository knows, the branch is new
	}
	return coleo.Errorf(coleo.EConflict, "arm %s has the branch %s checked out, which %s has already: nothing was "+
		"pushed; let the arm work on a branch of its own, or push that branch yourself",
		p.arm.Name, oneLine(branch), oneLine(remote))
}

// commits determines the tip of the branch, and the commits that the base does not contain.
func (p *proposal) commits(ctx context.Context) error {
	out, err := p.repo.Output(ctx, "rev-parse", "--verify", "--quiet", heads+p.record.Branch+"^{commit}")
	if err != nil {
		return coleo.Errorf(coleo.EConflict, "the branch %s of arm %s has no commit: nothing was pushed", p.record.Branch,
			p.arm.Name)
	}
	p.commit = strings.TrimSpace(string(out))
	args := []string{"log", "--format=%s", "-z", fmt.Sprintf("--max-count=%d", bodyCommits), p.commit}
	for _, ref := range []string{heads + p.record.Base, "refs/remotes/" + p.name + "/" + p.record.Base} {
		if _, err := p.repo.Output(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); err == nil {
			args = append(args, "^"+ref)
		}
	}
	if out, err = p.repo.Output(ctx, args...); err != nil {
		return err
	}
	if len(out) == 0 {
		return coleo.Errorf(coleo.EConflict, "the branch %s already has every commit of %s: there is nothing to propose, "+
			"and nothing was pushed", p.record.Base, p.record.Branch)
	}
	p.titles = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return nil
}

// open pushes the branch, and makes a pull request if the branch has no open one. It can be repeated: a push of
// the same commit changes nothing, and open finds the existing pull request.
func (p *proposal) open(ctx context.Context) (Opened, error) {
	inTime, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	word, err := p.repo.Push(inTime, git.Push{URL: p.record.Remote, Commit: p.commit, Branch: p.record.Branch,
		Environ: p.trees.Environ})
	if err != nil {
		return Opened{}, fmt.Errorf("the branch %s was not pushed, and no pull request was made: %w", p.record.Branch, err)
	}
	p.record.Pushed = p.commit
	// This ref shows git and 'coleo arm remove' that the remote has the commit.
	_, refErr := p.repo.Output(ctx, "update-ref", "refs/remotes/"+p.name+"/"+p.record.Branch, p.commit)
	out := Opened{Record: p.record, Push: word}
	found, err := p.forge.find(ctx, p.record.Branch)
	if err == nil && found.Number == 0 {
		out.Made = true
		found, err = p.forge.create(ctx, p.draft())
	}
	if err == nil {
		if found.Number == p.before.Number {
			p.record.Base = p.before.Base // the pull request exists already, and a push does not change its base
		}
		p.record.setRequest(found)
	}
	p.record.Changed = p.trees.Now().UTC()
	if writeErr := p.record.write(p.trees.Dir); err == nil && writeErr != nil {
		err = writeErr
	}
	out.Record = p.record
	if err != nil {
		return out, fmt.Errorf("the branch %s was pushed to %s, but it may have no pull request; "+
			"run this command again: %w", p.record.Branch, oneLine(remote.WithoutPassword(p.record.Remote)), err)
	}
	if refErr != nil {
		return out, fmt.Errorf("the branch %s was pushed, and has the pull request %s, but this repository could not store "+
			"the pushed branch: %w; 'git fetch --prune' may repair that", p.record.Branch, oneLine(p.record.URL), refErr)
	}
	return out, nil
}

// setRequest stores the number and the URL of a pull request. If it is a new pull request, setRequest forgets
// which items the arm has received.
func (r *Record) setRequest(found Request) {
	if r.Number != found.Number {
		r.Told, r.Sending, r.Last = nil, nil, ""
	}
	r.Number, r.URL = found.Number, found.URL
}

// draft returns the pull request to make. It writes the title and the body from the commits if the user gives
// none.
func (p *proposal) draft() New {
	n := New{Branch: p.record.Branch, Base: p.record.Base, Title: p.options.Title, Body: p.options.Body,
		Draft: p.options.Draft}
	if n.Title == "" {
		n.Title = p.titles[0]
		if len(p.titles) > 1 {
			n.Title = strings.ReplaceAll(p.record.Branch[strings.LastIndexByte(p.record.Branch, '/')+1:], "-", " ")
		}
	}
	if n.Body == "" {
		for i := len(p.titles) - 1; i >= 0; i-- {
			n.Body += "- " + p.titles[i] + "\n"
		}
	}
	return n
}
