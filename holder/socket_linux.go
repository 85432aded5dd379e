package holder

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// A socket's path has room for 107 bytes; the folder is opened first and the
// socket reached through it, so that the folder's own path may be of any
// length.

func listenUnix(path string) (net.Listener, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", short)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // short dies with done
	return l, os.Chmod(path, 0o600)
}

func dialUnix(path string) (net.Conn, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.Dial("unix", short)
}

func shortPath(path string) (string, func(), error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
