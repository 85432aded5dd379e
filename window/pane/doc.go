// Package pane follows what happens to the window of an arm.
//
// Run is the program in the window. It starts the program that the person sees, and records how the
// window has ended. Shown represents the window in the session. It opens the window, follows what
// Run records, and ends Run's process if the arm has ended. Run and Shown have no connection: they
// share only files in the arm's folder. So if the host agent is killed, the window stays open, and
// the next host agent finds it again.
//
// The package does not know any agent CLI, and does not read what the window shows.
package pane
