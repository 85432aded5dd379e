// Package display makes one picture of what an arm does, for people: its state, its open
// dialog, the tools that run, its tasks, its mode and model, its usage and its last text.
//
// Apply is a pure function of a snapshot and one event. So replaying the log gives the same
// snapshot as following the events.
//
// A Coalescer bundles changes. It reports a change after a quiet time, and at the latest
// after a longer time.
//
// The package imports the root package only, and does no input or output.
package display
