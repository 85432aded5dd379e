// Package git runs the program git on repositories that somebody else may have changed.
//
// A repository's own configuration can name programs, and a plain `git status` starts
// them. An arm can write this configuration. So git never reads it here. Each Repo has a
// stand-in for the repository's common folder. The stand-in has links to the objects, the
// refs and the rest, and a configuration that Coleo wrote. This configuration has only the
// keys of the repository's own one that are on a list of harmless keys.
//
// The configuration of the user and of the machine holds as usual, because the user wrote
// it. Its filters and merge drivers run. Its hooks, its fsmonitor, its external diffs, its
// textconv, its pagers, its editors, its credential helpers and its signing do not.
//
// Only the commands on a list run. None of them starts git in a submodule, and none uses the
// network. The package does not know what a worktree of an arm is: that is package
// workspace.
package git
