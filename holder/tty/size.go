// Package tty contains the pseudo-terminal of an arm, and the program that runs on it. On Linux
// this package does not use package pty/device. With package pty/device, a holder would be a larger
// process.
package tty

// DefaultCols and DefaultRows are the size of a terminal in cells. They apply if the launch sets no
// size. Package pty has the same values.
const (
	DefaultCols = 120
	DefaultRows = 40
)
