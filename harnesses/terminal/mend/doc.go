// Package mend proposes changes to a harness.toml. With these changes, the harness reads
// recordings as their labels say. It is used when a new version of an agent CLI looks
// different from the version for which the harness.toml was written.
//
// Propose tries changes one after the other. It replays each recording as a session would
// have read it. It keeps a change only if every recording then reads as its label says.
// Propose writes no file, starts no agent CLI, and makes no label.
package mend
