// Package mend proposes changes to a harness.toml for a new version of an agent CLI. The new
// version looks different from the version for which the harness.toml was written. The changes are
// tested with labelled recordings. The label of a recording lists the states that the harness must
// read in it.
//
// Propose tries changes one after another. It replays each recording as a session would have read it.
// It proposes changes only if every new recording then reads as its label says. Each old recording that
// already read as its label says must still do so. Propose writes no file, starts no agent CLI, and
// makes no label.
package mend
