//go:build !linux

package holder

import (
	"io"
	"net"
	"os"

	"coleo.dev/localsocket"
)

// Here the whole path must fit into a socket's address (104 bytes on macOS).

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

// answers tells whether somebody listens at a socket.
func answers(path string) bool {
	conn, err := localsocket.Dial(path)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// admit lets everybody in who can open the socket (0600).
func admit(io.ReadWriteCloser) error { return nil }
