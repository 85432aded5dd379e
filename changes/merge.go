package changes

import (
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// MergeWay says how the commits of an arm get into another branch.
type MergeWay string

// The ways of a merge.
const (
	// WayMerge makes a merge commit, even if git could move the branch without one. So one revert
	// undoes the work of an arm, as on GitHub and GitLab.
	WayMerge MergeWay = "merge"
	// WaySquash makes one commit with all changes.
	WaySquash MergeWay = "squash"
	// WayRebase makes each commit again on top of the branch. It does not change commits that are
	// already on top of the branch.
	WayRebase MergeWay = "rebase"
	// WayCommit commits the arm's uncommitted work on the arm's own branch, and merges nothing.
	// Into and Message must be empty.
	WayCommit MergeWay = "commit"
)

// MergeRequest says how to merge an arm's work.
type MergeRequest struct {
	Way MergeWay `json:"way,omitempty" enum:"merge,squash,rebase,commit"` // "" is WayMerge
	// Repo is the name of the repository, if the arm works in several. If Repo is "", that is the only one in
	// which the arm has changed something.
	Repo string `json:"repo,omitempty"`
	// Into is the branch that gets the work. If Into is "", that is the branch from which the arm's
	// worktree was made. If the branch Into does not exist, it begins at the branch from which the
	// arm's worktree was made.
	Into string `json:"into,omitempty"`
	// Commit is the message for a commit of the arm's uncommitted work. Coleo makes this commit
	// before the merge. If Commit is "", uncommitted work is an error.
	Commit string `json:"commit,omitempty"`
	// Message is the message of the merge commit or of the single commit of a squash. If Message is
	// "", Coleo writes the message. A rebase takes no message.
	Message string `json:"message,omitempty"`
	// UpdateCheckout allows that the branch Into is checked out in a person's work folder. The
	// merge then updates the files and the index there. The folder must have no uncommitted work.
	UpdateCheckout bool `json:"updateCheckout,omitempty"`
	// DryRun means that Coleo finds out what would happen, and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// MergeFrom describes an arm's work that is merged, and the branch that gets the work.
type MergeFrom struct {
	Repo   string   `json:"repo,omitempty"` // the name of the repository, if the arm works in several
	Way    MergeWay `json:"way" enum:"merge,squash,rebase,commit"`
	Branch string   `json:"branch"` // of the arm, without refs/heads/
	Commit string   `json:"commit"` // its newest commit
	Into   string   `json:"into"`   // the branch that gets the work, without refs/heads/
	// Before is the commit of Into before the merge. It is "" if the branch is new. After is the
	// commit of Into after the merge.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Committed is the commit that Coleo has made of uncommitted work. It is "" if there was no
	// uncommitted work. It is also "" if nothing was merged, and so nothing was committed.
	Committed string `json:"committed,omitempty"`
}

// Merged describes what a merge has done, or what it would do in a dry run. If Conflicts is not
// empty, nothing was changed.
type Merged struct {
	MergeFrom
	DryRun bool `json:"dryRun,omitempty"`
	// Nothing means that Into already contains all of the work. So nothing was changed.
	Nothing bool `json:"nothing,omitempty"`
	// CheckedOut is the work folder that has the branch Into checked out. Only a dry run sets it,
	// because Coleo would refuse the real merge.
	CheckedOut string `json:"checkedOut,omitempty"`
	// Updated is the work folder whose files and index the merge has updated. It is "" if there was
	// none.
	Updated string `json:"updated,omitempty"`
	// Recovered says, for people, what was done about an earlier merge that was interrupted. It is ""
	// if there was none.
	Recovered string `json:"recovered,omitempty"`
	// Commits lists the arm's commits that Into does not contain, the newest first. Files lists the
	// files that change in Into.
	Commits   []MergeCommit `json:"commits,omitempty"`
	Files     []File        `json:"files,omitempty"`
	Conflicts []Conflict    `json:"conflicts,omitempty"`
	// Cut describes, for people, what a bound has cut off.
	Cut string `json:"cut,omitempty"`
	// Asked is the receipt of the prompt that hands the conflicts to the arm. It is set only if the
	// caller asked for this prompt.
	Asked *coleo.Receipt `json:"asked,omitempty"`
}

// MergeCommit is a commit that is merged.
type MergeCommit struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// Conflict is a file that git cannot merge.
type Conflict struct {
	Path    string `json:"path"`
	RawPath []byte `json:"rawPath,omitempty"` // its bytes, if they are no UTF-8
	Kind    string `json:"kind"`              // in git's words: contents, modify/delete, rename/delete, …
	// Commit is the arm's commit that conflicts. It is set only in a rebase.
	Commit string `json:"commit,omitempty"`
}

// Name returns the bytes of the path.
func (c Conflict) Name() string { return nameOf(c.Path, c.RawPath) }

// NewConflict returns the conflict of a path.
func NewConflict(path, kind, commit string) Conflict {
	c := Conflict{Kind: kind, Commit: commit}
	c.Path, c.RawPath = named(path)
	return c
}

// mostInPrompt is the largest number of conflicts that a prompt names. The arm finds the other
// conflicts with git.
const mostInPrompt = 100

// MergePrompt returns the prompt that hands the conflicts of a merge to the arm.
func MergePrompt(m Merged) string {
	var b strings.Builder
	your := "Your"
	if m.Repo != "" {
		your = "In the repository " + Show(m.Repo) + ", your"
	}
	fmt.Fprintf(&b, "%s branch %s cannot be merged into the branch %s, because these files conflict:\n\n", your,
		m.Branch, m.Into)
	for n, c := range m.Conflicts {
		if n == mostInPrompt {
			fmt.Fprintf(&b, "- and %d more\n", len(m.Conflicts)-n)
			break
		}
		fmt.Fprintf(&b, "- %s (%s)\n", Show(c.Name()), c.Kind)
	}
	fmt.Fprintf(&b, "\nCommit your work. Then merge the branch %s into your branch (git merge %s), resolve the "+
		"conflicts so that "+
		"the intent of both sides is kept, run the tests, and commit the merge. Do not change the branch %s itself.",
		m.Into, printable.ShellWord(m.Into), m.Into)
	return b.String()
}
