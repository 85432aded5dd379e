package localsocket

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{UID: int(c.Uid), PID: int(c.Pid)}, nil
}

// throughFolder calls do with a short name for path. The address of a socket
// has room for 107 bytes, so the folder is opened and the socket reached
// through the open folder.
func throughFolder[T any](path string, do func(*net.UnixAddr) (T, error)) (T, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		var none T
		return none, err
	}
	defer dir.Close()
	return do(&net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))})
}

func dialPath(path string) (*net.UnixConn, error) {
	return throughFolder(path, func(a *net.UnixAddr) (*net.UnixConn, error) { return net.DialUnix("unix", nil, a) })
}

func listenPath(path string) (*net.UnixListener, error) {
	return throughFolder(path, func(a *net.UnixAddr) (*net.UnixListener, error) { return net.ListenUnix("unix", a) })
}
