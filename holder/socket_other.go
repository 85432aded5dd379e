//go:build !linux

package holder

import (
	"net"
	"os"
)

// Here the whole path must fit into a socket's address (104 bytes on macOS).

func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, os.Chmod(path, 0o600)
}

func dialUnix(path string) (net.Conn, error) { return net.Dial("unix", path) }
