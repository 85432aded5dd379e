// Package localsocket provides unix sockets that only one user can use.
//
// Both ends ask the kernel for the user at the other end. If it is another user, they
// close the connection before they read or write a byte. The kernel's answer cannot be
// forged, so a socket needs no password.
//
// The package does not know what is sent over a socket.
package localsocket
