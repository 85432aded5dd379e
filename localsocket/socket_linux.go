package localsocket

//platform:linux Path of a socket = any length
//platform:linux Check of the other end of a socket = user and process (SO_PEERCRED, SO_PEERPIDFD)

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// process is a reference to one process. It never refers to a later process with the same pid.
type process struct {
	fd  int // the pidfd of the process; -1 if there is none
	err error
}

func peerOf(fd int) (Peer, process, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, process{}, err
	}
	of := process{}
	// Since Linux 6.5, the kernel returns a pidfd of the process itself. On older kernels, peerOf opens a pidfd by
	// the pid, which may already belong to another process.
	if of.fd, of.err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD); errors.Is(of.err, unix.ENOPROTOOPT) {
		of.fd, of.err = unix.PidfdOpen(int(c.Pid), 0)
	}
	if of.err != nil {
		of.fd = -1
	}
	return Peer{UID: int(c.Uid), PID: int(c.Pid)}, of, nil
}

// isAlive reports whether the process is still alive. Linux before 5.3 has no pidfds, so isAlive always returns
// true there.
func (p process) isAlive() bool {
	if p.err != nil {
		return errors.Is(p.err, unix.ENOSYS)
	}
	return unix.PidfdSendSignal(p.fd, 0, nil, 0) == nil
}

func (p process) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
	}
}

// throughFolder opens the folder of a socket, and calls `do` with a short address of the socket, such as
// /proc/self/fd/7/serve.sock. A socket address has room for only 107 bytes, and the path of the socket may be
// longer.
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
