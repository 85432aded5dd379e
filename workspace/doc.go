// Package workspace gives each arm its own git worktree and branch, and takes the worktree away
// again without losing work.
//
// Each worktree has a record below Coleo's state folder. The record is written before the first
// change. It says which steps of the creation or the removal are done. So after a kill at any
// moment, Prune can mend everything.
//
// A worktree is removed only if everything in it is elsewhere too. Otherwise its content can first
// be kept under a ref of the repository, from which Restore brings it back.
//
// The package does not know whether an arm runs. Its callers know.
package workspace
