// Package tty is the pseudo-terminal of an arm, and the program on it. It does not use
// package pty/device on Linux, because a holder must stay a small process.
package tty

// DefaultCols and DefaultRows are the size of a terminal that is given none, in cells. It
// is the same as in package pty.
const (
	DefaultCols = 120
	DefaultRows = 40
)
