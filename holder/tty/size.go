// Package tty contains the pseudo-terminal of an arm, and the program that runs on it.
// On Linux it does not use package pty/device, because a holder must be a small
// process.
package tty

// DefaultCols and DefaultRows are the size in cells of a terminal whose launch sets no
// size. Package pty has the same default size.
const (
	DefaultCols = 120
	DefaultRows = 40
)
