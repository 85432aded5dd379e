// Package pane knows what happens in an arm's window.
//
// Run is the program in the window. It starts the program that the person sees, and writes
// down how the window has ended. Shown is the same window as the arm's session sees it: it
// opens the window, and follows what Run writes down. The two meet in files of the arm's
// folder only. So the window stays as it is while the session's process is killed, and the
// next one finds the window again.
//
// The package knows no agent CLI. It does not look at what the window shows.
package pane
