// Package git runs the program git on repositories that somebody else may have changed.
//
// A repository's own configuration can name programs, and a plain `git status` starts these
// programs. An arm can change this configuration. So the package never lets git read it. Instead,
// each Repo has a stand-in for the repository's common folder. The stand-in contains links to the
// objects, the refs and the rest. It also contains a configuration that Coleo wrote. From the
// repository's own configuration, Coleo copies only the keys that are on a list of harmless keys.
//
// The configuration of the user and of the machine applies as usual, because the user wrote it. Its
// filters and merge drivers run. Its hooks, its fsmonitor, its external diffs, its textconv, its
// pagers, its editors, its credential helpers and its signing do not run.
//
// Only the commands on a list run. None of these commands starts git in a submodule. Only Push and
// Fetch use the network, with the user's own login. Package workspace handles the worktrees of arms.
package git
