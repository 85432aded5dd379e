// Package display makes one picture of what an arm does, for people: its state, its open
// dialog, the tools that run, its tasks, its mode and model, its usage and its last text.
//
// Apply is a pure function of a snapshot and one event. So a snapshot that is made again
// from the log equals the one that was made while the events came.
//
// A Coalescer bundles changes. It tells a change when there was none for a while, and
// at the latest after a longer while.
//
// The package imports the root package only, and does no input or output.
package display
