// Package timelimit contains the time limits of orders that several processes wait for: a client of the API,
// serve and a host agent. Each process waits longer than the process that it has asked. The package also tells
// Coleo how much longer the sender of an order waits, so that Coleo types nothing after the sender has given
// up.
package timelimit

import "time"

// These constants are time limits of serve, unless a comment names another process.
const (
	// Typing is the time limit for an order that types into a terminal. An agent CLI can need 30 s
	// to start before its first prompt.
	Typing = 90 * time.Second
	// perKB is added to Typing for each 1,000 bytes of a prompt. An agent CLI can be unresponsive
	// while it reads a long prompt, shows the prompt and begins to work on it.
	perKB = 6 * time.Second
	// Kill is the time limit for ending all processes of an arm.
	Kill = 30 * time.Second
	// Remove is the time limit for the removal of an arm. If the arm's worktree contains much
	// unsaved work, the host agent needs minutes to save it.
	Remove = 10 * time.Minute
	// MergeOnHost is the host agent's own time limit for a merge. It includes the time in which the merge waits
	// for other merges into the repository. The project's check script can already take script.MaxTimeout.
	MergeOnHost = 24 * time.Minute
	// Merge is the time limit for a merge.
	Merge = MergeOnHost + time.Minute
	// Worktree is added to the time limit of a start that creates a worktree. The checkout of a
	// large repository takes minutes, and a set-up script may run for script.MaxTimeout.
	Worktree = 25 * time.Minute
)

// Prompt returns the time limit for the delivery of a prompt.
func Prompt(text string) time.Duration { return Typing + time.Duration(len(text)/1000)*perKB }
