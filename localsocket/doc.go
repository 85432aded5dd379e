// Package localsocket provides unix sockets that only one user can use.
//
// Both ends ask the kernel who is at the other end, and hang up before they
// read or write a byte when that is another user. The kernel's answer cannot
// be forged, so a socket needs no password.
//
// The package knows nothing of what is said over a socket.
package localsocket
