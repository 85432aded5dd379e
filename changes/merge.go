package changes

import (
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// MergeWay is the way in which an arm's commits are put into another branch.
type MergeWay string

// These are the ways of a merge.
const (
	// WayMerge makes a merge commit, even where git could fast-forward. So one revert undoes the work of an
	// arm, as on GitHub and GitLab.
	WayMerge MergeWay = "merge"
	// WaySquash makes one commit with all changes.
	WaySquash MergeWay = "squash"
	// WayRebase applies each commit again on top of the branch. If a commit is already on top of the branch,
	// it stays unchanged.
	WayRebase MergeWay = "rebase"
	// WayCommit commits the arm's uncommitted work on the arm's own branch, and merges nothing.
	// Into and Message must be empty.
	WayCommit MergeWay = "commit"
)

// MergeRequest describes how to merge an arm's work.
type MergeRequest struct {
	Way MergeWay `json:"way,omitempty" enum:"merge,squash,rebase,commit"` // "" means WayMerge
	// Repo is the name of the repository, if the arm works in several. If Repo is "", the merge uses the only
	// repository in which the arm has changed something.
	Repo string `json:"repo,omitempty"`
	// Into is the target branch. If Into is "", the target is the original branch: the branch from which the
	// arm's worktree was made. If the branch Into does not exist, Coleo creates it from the original branch.
	Into string `json:"into,omitempty"`
	// Commit is the message for a commit of the arm's uncommitted work. Coleo makes this commit
	// before the merge. If Commit is "", uncommitted work is an error.
	Commit string `json:"commit,omitempty"`
	// Message is the message of the merge commit or of the single commit of a squash. If Message is
	// "", Coleo writes the message. A rebase takes no message.
	Message string `json:"message,omitempty"`
	// UpdateCheckout allows the merge even if the branch Into is checked out in a person's work folder. The
	// merge then updates the files and the index there. The folder must have no uncommitted work.
	UpdateCheckout bool `json:"updateCheckout,omitempty"`
	// DryRun means that Coleo only determines what would happen, and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// MergeFrom describes an arm's work and the branch into which it is merged.
type MergeFrom struct {
	Repo   string   `json:"repo,omitempty"` // the name of the repository, if the arm works in several
	Way    MergeWay `json:"way" enum:"merge,squash,rebase,commit"`
	Branch string   `json:"branch"` // the arm's branch, without refs/heads/
	Commit string   `json:"commit"` // the newest commit of Branch
	Into   string   `json:"into"`   // the target branch, without refs/heads/
	// Before is the commit of Into before the merge. It is "" if the branch is new. After is the
	// commit of Into after the merge.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Committed is the commit that Coleo has made of uncommitted work. It is "" if there was no uncommitted
	// work, or if nothing was merged.
	Committed string `json:"committed,omitempty"`
}

// Merged describes what a merge has done, or what it would do in a dry run. If Conflicts is not empty, the
// merge has changed nothing.
type Merged struct {
	MergeFrom
	DryRun bool `json:"dryRun,omitempty"`
	// Nothing means that Into already contains all of the arm's commits, so nothing was changed.
	Nothing bool `json:"nothing,omitempty"`
	// CheckedOut is the work folder that has the branch Into checked out. Only a dry run sets it, to warn that
	// Coleo would refuse the real merge without UpdateCheckout.
	CheckedOut string `json:"checkedOut,omitempty"`
	// Updated is the work folder whose files and index the merge has updated. It is "" if the merge has
	// updated no work folder.
	Updated string `json:"updated,omitempty"`
	// Recovered describes, for people, what Coleo did about an earlier merge that was interrupted. It is ""
	// if no merge was interrupted.
	Recovered string `json:"recovered,omitempty"`
	// Commits lists the arm's commits that Into does not contain, the newest first. Files lists the
	// files that change in Into.
	Commits   []MergeCommit `json:"commits,omitempty"`
	Files     []File        `json:"files,omitempty"`
	Conflicts []Conflict    `json:"conflicts,omitempty"`
	// Cut describes, for people, what a bound has cut off.
	Cut string `json:"cut,omitempty"`
	// Asked is the receipt of the prompt that asks the arm to resolve the conflicts. It is set only if the
	// caller requested this prompt.
	Asked *coleo.Receipt `json:"asked,omitempty"`
}

// MergeCommit is one of the merged commits.
type MergeCommit struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// Conflict is a file whose versions git cannot merge.
type Conflict struct {
	Path    string `json:"path"`
	RawPath []byte `json:"rawPath,omitempty"` // the bytes of a path that is not UTF-8
	Kind    string `json:"kind"`              // the kind in git's words, such as contents or modify/delete
	// Commit is the arm's commit that conflicts. It is set only in a rebase.
	Commit string `json:"commit,omitempty"`
}

// Name returns the bytes of the path.
func (c Conflict) Name() string { return nameOf(c.Path, c.RawPath) }

// NewConflict returns a Conflict for the path.
func NewConflict(path, kind, commit string) Conflict {
	c := Conflict{Kind: kind, Commit: commit}
	c.Path, c.RawPath = nameForJSON(path)
	return c
}

// mostInPrompt is the largest number of conflicts that a prompt names. The arm can find the others with git.
const mostInPrompt = 100

// MergePrompt returns the prompt that asks the arm to resolve the conflicts of a merge.
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
