package api

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// inFolder calls do with a short name of path: an address of a socket has room
// for 107 bytes, so the folder is opened first and the socket reached through
// it.
func inFolder[T any](path string, do func(short string) (T, error)) (T, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		var none T
		return none, err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}

func dialSocket(path string) (net.Conn, error) {
	return inFolder(path, func(short string) (net.Conn, error) { return net.Dial("unix", short) })
}

func bindSocket(path string) (net.Listener, error) {
	return inFolder(path, func(short string) (net.Listener, error) { return net.Listen("unix", short) })
}
