// Package localsocket provides unix sockets that only one user can use.
//
// Each end of a connection asks the kernel which user is at the other end. If the kernel reports
// another user, the asking end closes the connection before it reads or writes a byte. A user
// cannot forge the kernel's answer, so a socket needs no password.
//
// The package does not know what is sent over a socket.
package localsocket
