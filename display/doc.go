// Package display makes one picture of what an arm does, for people. It has the arm's state, its
// open dialog, the tools that run, its tasks, its mode and model, its usage and its last text.
//
// Apply is a pure function of a snapshot and one event. So replaying the log gives the same
// snapshot as following the events.
//
// A Coalescer bundles changes. It reports a change after a quiet time. If changes continue, it
// reports them after a longer time at the latest.
//
// The package imports only the root package, and does no input or output.
package display
