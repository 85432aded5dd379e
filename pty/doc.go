// Package pty is one program on one pseudo-terminal: it starts the program,
// carries its bytes, draws the screen those bytes describe, answers what the
// program asks its terminal, and knows the keys it can be sent.
//
// It does not say what a screen means, does not outlive its process and does
// not decide when to type: harnesses/terminal and holder do.
package pty
