//go:build !linux

package localsocket

import "net"

// On these systems the whole path must fit into a socket address. On macOS an address
// has 104 bytes.

func dialPath(path string) (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: path})
}

func listenPath(path string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
}
