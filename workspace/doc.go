// Package workspace gives each arm its own git worktree and branch, and removes the worktree
// without losing work.
//
// Each worktree has a record below Coleo's state folder. The record is written before the first
// change, and shows which steps of making or removing the worktree are done. So after a kill at any
// moment, Prune can complete or undo the steps.
//
// A worktree is removed only if everything in it is saved elsewhere. Before the removal, its
// content can be kept under a ref of the repository. Restore makes the worktree again from this
// ref.
//
// The package does not know whether an arm is running. Its callers know.
package workspace
