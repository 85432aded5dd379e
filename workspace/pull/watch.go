package pull

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/workspace"
	"coleo.dev/workspace/remote"
)

// This file watches a pull request, and sends new items to the arm.

const (
	// DefaultTries is how many prompts one watch sends at most. If three prompts do not repair the
	// branch, a fourth rarely does.
	DefaultTries = 3
	// DefaultEvery is the time between two checks. A check sends about seven requests, and GitHub
	// allows 5,000 requests per hour.
	DefaultEvery = 30 * time.Second
	// slowest is the longest time between two checks. The time doubles after each failed check, and
	// grows by a quarter after each check without news.
	slowest = 5 * time.Minute
	// mostFailures is how many checks must fail in a row before the watch gives up. With the
	// growing pauses, this takes about half an hour.
	mostFailures = 8
	// gatherTime is how long the watch waits for running checks, so that one prompt contains their
	// failures and the comments.
	gatherTime = 10 * time.Minute
	// firstChecks is how long the watch waits for the first check of a commit. A server needs a
	// moment to start its checks, and some projects have no checks.
	firstChecks = 2 * time.Minute
)

// End is the reason why a watch has ended.
type End string

// These are the reasons.
const (
	EndMerged End = "merged"
	EndClosed End = "closed" // the pull request was closed without a merge
	EndGreen  End = "green"  // no check is running or has failed, and the arm has received all comments
	EndTries  End = "tries"  // there are new items, but the watch may send no more prompts
)

// Watched is the result of Follow.
type Watched struct {
	End    End    `json:"end"`
	Number int    `json:"number"`
	URL    string `json:"url"`
	Rounds int    `json:"rounds"` // how many prompts this watch has sent
	Items  int    `json:"items"`  // how many items these prompts contained
	Left   int    `json:"left"`   // how many items the arm has not received yet
}

// Arm accepts prompts for the arm of a pull request. The caller of Follow implements it.
type Arm interface {
	// Send puts a prompt with the given id into the arm's queue. It does nothing if the arm has
	// already received a prompt with this id. When Send returns, the prompt is stored on the disk.
	// Send returns the id of the prompt's run.
	Send(ctx context.Context, id, text string) (run string, err error)
	// Busy reports whether the prompt with the given id is waiting in the queue, is being sent, or
	// has a run that is still open.
	Busy(ctx context.Context, id string) (bool, error)
}

// Watch contains the options of Follow.
type Watch struct {
	Tries      int           // 0 means DefaultTries
	Every      time.Duration // time between two checks; 0 means DefaultEvery
	AllAuthors bool          // whether to send comments by authors without write access too
	Arm        Arm
	Tell       func(line string) // called after each step with a line for people; can be nil
}

// Follow watches the pull request of an arm until there is a reason to end: see End. It sends each
// failed check and comment to the arm only once, even if earlier watches were killed.
//
// Follow returns ENotFound if the arm has no pull request, and EUnsupported if the pull request is
// not on GitHub. It returns EBusy if another process is working on the pull request.
func Follow(ctx context.Context, trees workspace.Workspaces, w workspace.Workspace, options Watch) (Watched, error) {
	unlock, err := lock(trees.Dir, w.ID)
	if err != nil {
		return Watched{}, err
	}
	defer unlock()
	f := follower{dir: trees.Dir, now: trees.Now, options: options}
	if err := f.open(ctx, trees.Environ, w); err != nil {
		return Watched{}, err
	}
	f.out = Watched{Number: f.record.Number, URL: f.record.URL}
	err = f.follow(ctx)
	return f.out, err
}

// follower contains the data of one call of Follow.
type follower struct {
	dir     string
	now     func() time.Time
	options Watch
	hub     gitHub
	record  Record
	out     Watched

	commit string    // the newest commit at the last check
	since  time.Time // when the watch first saw `commit`
	// firstUnsent is when the watch first saw an item that the arm has not received. It is zero if there is no such
	// item.
	firstUnsent time.Time
}

func (f *follower) open(ctx context.Context, environ []string, w workspace.Workspace) error {
	r, ok, err := Read(f.dir, w.ID)
	switch {
	case err != nil:
		return err
	case !ok || r.Number == 0:
		return coleo.Errorf(coleo.ENotFound, "arm %s has no pull request: 'coleo arm pr %s' makes one", w.Name, w.Name)
	case r.Program != "gh":
		return coleo.Errorf(coleo.EUnsupported, "the request of arm %s is on GitLab: 'coleo arm watch-pr' watches "+
			"only pull requests of GitHub", w.Name)
	}
	at, err := remote.PlaceOf(r.Remote)
	if err != nil {
		return err
	}
	p, err := findProgram(ctx, environ, at.Host)
	if err != nil {
		return err
	}
	f.record, f.hub = r, gitHub{p, at}
	f.record.Repo = w.Repo
	if f.options.Tries <= 0 {
		f.options.Tries = DefaultTries
	}
	if f.options.Every <= 0 {
		f.options.Every = DefaultEvery
	}
	if f.options.Tell == nil {
		f.options.Tell = func(string) {}
	}
	return nil
}

// follow checks the pull request again and again, until there is a reason to end or too many checks
// have failed.
func (f *follower) follow(ctx context.Context) error {
	if err := f.finishSending(ctx); err != nil {
		return err
	}
	wait, failures := f.options.Every, 0
	for {
		changed, end, err := f.lookOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if failures++; failures == mostFailures {
				return fmt.Errorf("the watch gave up, because %d looks in a row failed: %w", failures, err)
			}
			wait = min(2*wait, max(slowest, f.options.Every))
			f.options.Tell(fmt.Sprintf("a look failed, and the next one is in %v: %s", wait, oneLine(err.Error())))
		case end != "":
			f.out.End = end
			return nil
		default:
			failures = 0
			if wait = min(wait+wait/4, max(slowest, f.options.Every)); changed {
				wait = f.options.Every
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// lookOnce checks the pull request once, and sends new items to the arm. `changed` reports whether something
// has changed since the last check.
func (f *follower) lookOnce(ctx context.Context) (changed bool, end End, err error) {
	r, err := f.hub.get(ctx, f.record.Number)
	switch {
	case err != nil:
		return false, "", err
	case r.Merged:
		return false, EndMerged, nil
	case r.Closed:
		return false, EndClosed, nil
	}
	if changed = r.Commit != f.commit; changed {
		f.commit, f.since = r.Commit, f.now()
	}
	checks, err := f.hub.checks(ctx, r.Commit)
	if err != nil {
		return changed, "", err
	}
	comments, err := f.hub.comments(ctx, r.Number, f.options.AllAuthors)
	if err != nil {
		return changed, "", err
	}
	unsent := f.unsent(append(checks.failed, comments...))
	if len(unsent) > 0 && f.firstUnsent.IsZero() {
		f.firstUnsent = f.now()
	}
	if f.record.Last != "" { // before the arm gets another prompt, it must finish the last one
		if busy, err := f.options.Arm.Busy(ctx, f.record.Last); err != nil || busy {
			return changed, "", err
		}
	}
	switch {
	case len(unsent) == 0 && checks.running == 0 && len(checks.failed) == 0 &&
		(checks.passed > 0 || f.now().Sub(f.since) >= f.patience(firstChecks)):
		return changed, EndGreen, nil
	case len(unsent) == 0, checks.running > 0 && f.now().Sub(f.firstUnsent) < f.patience(gatherTime):
		return changed, "", nil
	case f.out.Rounds >= f.options.Tries:
		f.out.Left = len(unsent)
		return changed, EndTries, nil
	}
	return true, "", f.sendItems(ctx, unsent)
}

// patience returns d, but at most the duration of a few checks. So tests, which use a short Every,
// do not wait for minutes.
func (f *follower) patience(d time.Duration) time.Duration {
	const looks = 20
	return min(d, looks*f.options.Every)
}

// unsent returns those items that the arm has not received.
func (f *follower) unsent(all []Item) []Item {
	return slices.DeleteFunc(all, func(i Item) bool { return slices.Contains(f.record.Told, i.ID) })
}

// sendItems sends items to the arm as one prompt. It stores the prompt first, so that a kill neither
// loses nor repeats it.
func (f *follower) sendItems(ctx context.Context, unsent []Item) error {
	for i := range unsent {
		if unsent[i].job != 0 {
			f.hub.readLog(ctx, &unsent[i])
		}
	}
	text, ids := Prompt(f.record, unsent)
	f.record.Sending = &Sending{ID: rand.Text(), Text: text, Items: ids}
	if err := f.store(); err != nil {
		return err
	}
	f.firstUnsent = time.Time{}
	return f.finishSending(ctx)
}

// finishSending sends the prompt that is stored in the record, if there is one.
func (f *follower) finishSending(ctx context.Context) error {
	s := f.record.Sending
	if s == nil {
		return nil
	}
	run, err := f.options.Arm.Send(ctx, s.ID, s.Text)
	if err != nil {
		return fmt.Errorf("send %d failed checks and comments to the arm: %w", len(s.Items), err)
	}
	f.record.Told, f.record.Sending, f.record.Last = append(f.record.Told, s.Items...), nil, run
	f.out.Rounds++
	f.out.Items += len(s.Items)
	f.options.Tell(fmt.Sprintf("sent %d failed checks and comments to the arm, as the prompt of run %s", len(s.Items),
		run))
	return f.store()
}

func (f *follower) store() error {
	f.record.Changed = f.now().UTC()
	return f.record.write(f.dir)
}
