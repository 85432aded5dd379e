// Package localsocket provides unix sockets that only one user can use.
//
// Each end asks the kernel which user is at the other end. If it is another user, the
// end closes the connection before it reads or writes a byte. The kernel's answer
// cannot be forged, so a socket needs no password.
//
// The package does not know what is sent over a socket.
package localsocket
