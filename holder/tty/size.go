// Package tty contains the pseudo-terminal of an arm, and the program that runs on it. On Linux it
// does not use package pty/device, which would make a holder a larger process.
package tty

// DefaultCols and DefaultRows are the size of a terminal in cells if the launch sets no size.
// Package pty has the same values.
const (
	DefaultCols = 120
	DefaultRows = 40
)
