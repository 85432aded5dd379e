// Package pty runs one program on one pseudo-terminal. It starts the program, carries its
// bytes, and draws the screen that those bytes describe. It also answers the program's
// queries to its terminal, and encodes the keys that it can be sent.
//
// The package does not interpret a screen, outlive its process, or decide when to type.
// Packages harnesses/terminal and holder do.
package pty
