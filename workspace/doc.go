// Package workspace gives each arm a git worktree and a branch of its own, and takes the
// worktree away again without losing work.
//
// Each worktree has a record below Coleo's state folder. The record is written before the
// first change, and says how far the making or the removal has come. So a kill at any
// moment leaves nothing that Prune does not mend.
//
// A worktree is removed only if all that is in it is elsewhere too. Otherwise everything
// can first be put under a ref of the repository, and Restore brings it back.
//
// The package does not know whether an arm runs: its callers do.
package workspace
