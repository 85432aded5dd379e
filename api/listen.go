package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"

	"coleo.dev"
)

// ListenSocket listens on a socket that only the user may open. What a server
// that died has left there is removed. Its folder must be the user's alone
// (0700): the socket's own mode is set a moment after it is made. Errors:
// EConflict when a server answers there already, or something else than a
// socket is in the way.
func ListenSocket(path string) (net.Listener, error) {
	if conn, err := dialSocket(path); err == nil {
		conn.Close()
		return nil, coleo.Errorf(coleo.EConflict, "a server already answers at %s", path)
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("look at socket %s: %w", path, err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, coleo.Errorf(coleo.EConflict, "%s is no socket: move it away", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the dead socket %s: %w", path, err)
		}
	}
	l, err := bindSocket(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it would not find the path by the name it knows
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("close socket %s to others: %w", path, err)
	}
	return &socketListener{Listener: l, path: path}, nil
}

// socketListener removes its socket when it is closed.
type socketListener struct {
	net.Listener
	path string
	once sync.Once
	err  error
}

func (l *socketListener) Close() error {
	l.once.Do(func() {
		l.err = l.Listener.Close()
		if err := os.Remove(l.path); err != nil && l.err == nil && !errors.Is(err, fs.ErrNotExist) {
			l.err = err
		}
	})
	return l.err
}
