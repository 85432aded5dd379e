package changes

import (
	"fmt"
	"strings"

	"coleo.dev"
)

// MergeWay says how the commits of an arm get into another branch.
type MergeWay string

// The ways of a merge.
const (
	// WayMerge makes a merge commit, also if the branch could be moved without one. So one
	// revert undoes the work of an arm, as on GitHub and GitLab.
	WayMerge MergeWay = "merge"
	// WaySquash makes one commit with all changes.
	WaySquash MergeWay = "squash"
	// WayRebase makes each commit anew on top of the branch. Commits that are on top of it
	// already stay as they are.
	WayRebase MergeWay = "rebase"
)

// MergeWish says how somebody wants an arm's work merged.
type MergeWish struct {
	Way MergeWay `json:"way,omitempty" enum:"merge,squash,rebase"` // "" is WayMerge
	// Into is the branch that gets the work. "" is the one from which the arm's worktree was
	// made. A branch that does not exist begins at that one.
	Into string `json:"into,omitempty"`
	// Commit is the message for uncommitted work of the arm, which is committed first. If it
	// is "", uncommitted work is an error.
	Commit string `json:"commit,omitempty"`
	// Message is the message of the merge commit or of the one commit of a squash. "" leaves
	// it to Coleo. A rebase takes none.
	Message string `json:"message,omitempty"`
	// DryRun finds out what would happen, and changes nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// MergeFrom is an arm's work that is merged, and the branch that gets it.
type MergeFrom struct {
	Way    MergeWay `json:"way" enum:"merge,squash,rebase"`
	Branch string   `json:"branch"` // of the arm, without refs/heads/
	Commit string   `json:"commit"` // its newest commit
	Into   string   `json:"into"`   // the branch that gets the work, without refs/heads/
	// Before is the commit of Into before the merge; "" if the branch is new. After is the one
	// after it.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Committed is the commit that Coleo has made of uncommitted work; "" if there was none.
	Committed string `json:"committed,omitempty"`
}

// Merged is what a merge has done, or what a dry run says that it would do. If there are
// Conflicts, nothing was changed.
type Merged struct {
	MergeFrom
	DryRun bool `json:"dryRun,omitempty"`
	// Nothing means that Into has all of the work already. Nothing was changed.
	Nothing bool `json:"nothing,omitempty"`
	// CheckedOut is the work folder that has Into checked out. A dry run sets it, because the
	// merge would be refused.
	CheckedOut string `json:"checkedOut,omitempty"`
	// Commits are those of the arm that Into does not have, the newest first. Files are what
	// changes in Into.
	Commits   []MergeCommit `json:"commits,omitempty"`
	Files     []File        `json:"files,omitempty"`
	Conflicts []Conflict    `json:"conflicts,omitempty"`
	// Cut says for people what a bound has cut off.
	Cut string `json:"cut,omitempty"`
	// Asked is the prompt that hands the conflicts to the arm, if that was asked for.
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
	// Commit is the commit of the arm that conflicts, in a rebase.
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

// mostInPrompt is how many conflicts a prompt names. The arm finds the others by git.
const mostInPrompt = 100

// MergePrompt returns the prompt that hands the conflicts of a merge to the arm.
func MergePrompt(m Merged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your branch %s cannot be merged into the branch %s, because these files conflict:\n\n",
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
		m.Into, m.Into, m.Into)
	return b.String()
}
