// Package script runs the scripts that a project has for Coleo. They are .coleo/setup, for each new
// worktree, and .coleo/check, for the time before a merge.
//
// A script comes with the repository, so anybody may have written it. It is read from a
// commit, and it runs only if the user trusts its hash in this repository. The hash also
// covers the files that the script names. If the package cannot tell what else the script
// starts, the hash covers every file of the commit.
package script
