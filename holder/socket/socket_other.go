//go:build !linux

package socket

//platform:macos Who may type by the holder's socket = every process of the user

import (
	"io"
	"net"
	"os"

	"coleo.dev/localsocket"
)

// Listener is a socket that accepts connections.
type Listener struct{ net.Listener }

// Listen creates a socket at path and listens on it. Only the owner has access to the socket.
func Listen(path string) (*Listener, error) {
	if err := localsocket.Fits(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return &Listener{l}, os.Chmod(path, 0o600)
}

// Accept waits for the next connection.
func (l *Listener) Accept() (io.ReadWriteCloser, error) { return l.Listener.Accept() }

// Answers reports whether a process listens on the socket at path.
func Answers(path string) bool {
	conn, err := localsocket.Dial(path)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// Admit always returns nil, because the mode of the socket, 0600, already excludes other users.
func Admit(io.ReadWriteCloser) error { return nil }
