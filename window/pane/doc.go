// Package pane knows what happens in an arm's window.
//
// Run is the program in the window. It starts the program that the person sees, and records how the
// window has ended. Shown represents this window in the session. It opens the window, follows what
// Run records, and ends Run's process if the arm has ended. Run and Shown share files in the arm's
// folder. They have no connection. So if the host agent is killed, the window stays open, and the
// next host agent finds it again.
//
// The package does not know any agent CLI. It does not look at what the window shows.
package pane
