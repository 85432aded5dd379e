// Package tty contains the pseudo-terminal of an arm, and the program that runs on it.
// On Linux it does not use package pty/device, which would make a holder a larger
// process.
package tty

// DefaultCols and DefaultRows are the size in cells of a terminal if the launch sets no
// size. They are the same as in package pty.
const (
	DefaultCols = 120
	DefaultRows = 40
)
