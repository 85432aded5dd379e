// Package socket is the unix socket on which a holder listens. It accepts connections,
// and asks the kernel which process has connected.
package socket

//platform:linux Who may type by the holder's socket = processes of the user outside of arms

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"coleo.dev/holder/process"
	"coleo.dev/localsocket"
)

// The path of a socket can have at most 107 bytes. This package opens the folder and reaches the
// socket through the open folder, so that the path of the folder can have any length.
//
// The package makes system calls instead of using package net, which would double the memory of a
// holder.

// Listener is a socket that accepts connections.
type Listener struct{ file *os.File }

// listenBacklog is the number of connections that can wait until they are accepted. Connections
// come only from the host agent, viewers and a few commands.
const listenBacklog = 64

// Listen creates a socket at path and listens on it. Only the owner has access to the socket.
func Listen(path string) (*Listener, error) {
	short, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: short})
	if err == nil {
		err = errors.Join(os.Chmod(path, 0o600), unix.Listen(fd, listenBacklog))
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &Listener{os.NewFile(uintptr(fd), path)}, nil
}

// Accept waits for the next connection.
func (l *Listener) Accept() (io.ReadWriteCloser, error) {
	raw, err := l.file.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	err = raw.Read(func(at uintptr) bool {
		fd, _, failed = unix.Accept4(int(at), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return failed != unix.EAGAIN && failed != unix.EINTR && failed != unix.ECONNABORTED
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "connection"), nil
}

// Close stops listening.
func (l *Listener) Close() error { return l.file.Close() }

// Answers reports whether a process listens on the socket at path.
func Answers(path string) bool {
	short, done, err := shortPath(path)
	if err != nil {
		return false
	}
	defer done()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: short}) == nil
}

// Admit returns an error if the connection comes from another user or from a process of an arm. An
// arm must not type into any arm.
func Admit(conn io.ReadWriteCloser) error {
	raw, err := conn.(*os.File).SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = localsocket.InspectFD(int(fd), func(p localsocket.Peer) error { return process.OutsideArms(p.PID) })
	})
	return errors.Join(err, refused)
}

func shortPath(path string) (string, func(), error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
