package localsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"coleo.dev"
	"coleo.dev/wholefile"
)

// Listener accepts only connections of this user. It closes all other connections
// without sending a byte.
type Listener struct {
	*net.UnixListener
	path  string
	admit func(Peer) error
	close sync.Once
	err   error
}

// Listen listens on a socket at `path`. The listener calls checkPeer with the process at the other end of
// each connection, and closes the connection if checkPeer returns an error. If checkPeer is nil, the listener
// accepts every process of this user.
//
// If `path` is a socket on which no process listens, Listen replaces it. Listen returns EConflict if a server
// already listens at `path`, or if `path` is not a socket. It returns EForbidden if another user owns the
// folder or has permissions for it, because that user could replace the socket.
func Listen(path string, checkPeer func(Peer) error) (*Listener, error) {
	if checkPeer == nil {
		checkPeer = func(Peer) error { return nil }
	}
	if err := checkFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if conn, err := dialPath(path); err == nil {
		conn.Close()
		return nil, coleo.Errorf(coleo.EConflict, "a server already answers at %s", path)
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	l, err := listenPath(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	// Close itself removes the socket, because l may know it only by another, shorter path.
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("close the socket %s to others: %w", path, err)
	}
	return &Listener{UnixListener: l, path: path, admit: checkPeer}, nil
}

// checkFolder returns EForbidden if another user owns the folder `dir` or has permissions for it.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("examine the folder of a socket: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return coleo.Errorf(coleo.EForbidden, "the folder %s belongs to user %d: a socket in it would not be yours",
			dir, owner.Uid)
	}
	if mode := info.Mode().Perm(); wholefile.OpenToOthers(mode) {
		return coleo.Errorf(coleo.EForbidden, "the folder %s is open to other users (mode %04o): run 'chmod 700 %s'",
			dir, mode, dir)
	}
	return nil
}

// removeDead removes a socket at `path` after its server has ended. It returns EConflict if `path` is not a
// socket.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("examine the socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return coleo.Errorf(coleo.EConflict, "%s is not a socket: move it away", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the dead socket %s: %w", path, err)
	}
	return nil
}

// Accept returns the next connection that checkPeer accepts. It closes all other connections.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := Inspect(conn, l.admit); err == nil {
			return conn, nil
		}
		conn.Close()
	}
}

// Close stops listening and removes the socket. Accepted connections stay open.
func (l *Listener) Close() error {
	l.close.Do(func() {
		l.err = l.UnixListener.Close()
		if err := os.Remove(l.path); err != nil && l.err == nil && !errors.Is(err, fs.ErrNotExist) {
			l.err = err
		}
	})
	return l.err
}
