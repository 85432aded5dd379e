// Package display makes snapshots of what an arm does, for people. A Snapshot has the arm's state, its
// open dialog, the tools that run, its tasks, its mode and model, its usage and its last text.
//
// Apply is a pure function of a snapshot and one event. So replaying the log gives the same
// snapshot as following the events.
//
// A Coalescer bundles changes. It waits until no further change has come for a short time, and then
// reports the changes together. If changes never stop coming, it reports them after a longer time.
//
// The package imports only the root package, and does no input or output.
package display
