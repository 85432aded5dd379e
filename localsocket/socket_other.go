//go:build !linux

package localsocket

//platform:macos Path of a socket = 103 bytes at most; a longer one is refused

import (
	"net"

	"coleo.dev"
)

// longestPath is the maximum length of a socket's path, in bytes. On macOS, a socket address has
// room for 104 bytes, including a final zero.
const longestPath = 103

// Fits returns EUnsupported if `path` is too long for a socket.
func Fits(path string) error {
	if len(path) > longestPath {
		return coleo.Errorf(coleo.EUnsupported, "the path %s of a socket has %d bytes, and this system allows %d: "+
			"use a state folder with a shorter path", path, len(path), longestPath)
	}
	return nil
}

func dialPath(path string) (*net.UnixConn, error) {
	if err := Fits(path); err != nil {
		return nil, err
	}
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: path})
}

func listenPath(path string) (*net.UnixListener, error) {
	if err := Fits(path); err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
}
