// Package mend proposes changes to a harness.toml, so that it reads labelled recordings
// as their labels say. Recordings of a new version of an agent CLI are an example.
//
// Propose tries changes one after the other, and keeps a change only if every recording
// agrees. It replays each recording as a session would have read it. It writes no file,
// starts no agent CLI, and makes no label.
package mend
