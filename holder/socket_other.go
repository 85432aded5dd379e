//go:build !linux

package holder

import (
	"io"
	"net"
	"os"

	"coleo.dev/localsocket"
)

// On this system the whole path must fit into a socket's address (104 bytes on macOS).

type listener struct{ net.Listener }

func listenUnix(path string) (*listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return &listener{l}, os.Chmod(path, 0o600)
}

// Accept waits for the next connection.
func (l *listener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }

// answers reports whether a process listens on a socket.
func answers(path string) bool {
	conn, err := localsocket.Dial(path)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// admit admits every process that can open the socket (mode 0600).
func admit(io.ReadWriteCloser) error { return nil }
