// Package git runs the program git on repositories that somebody else may have changed.
//
// A repository's own configuration can name programs, and even a plain `git status` starts them. An arm can change
// this configuration, so the package never lets git read it. Instead, git uses a temporary folder in place of the
// repository's common folder: the Repo's stand-in. The stand-in contains links to the objects, the refs and so on,
// and a configuration that Coleo has written. Coleo copies only harmless settings into this configuration, those
// whose keys are on a list.
//
// The configurations of the user and of the machine apply as usual, because an arm did not write them. Their filters
// and merge drivers run. Their hooks, fsmonitor, external diffs, textconv, pagers, editors, credential helpers and
// signing do not run.
//
// Only the commands on a list run. None of these commands starts git in a submodule. Only Push and Fetch use the
// network, with the user's own login. Package workspace handles the worktrees of arms.
package git
