package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
)

// The link is a unix socket, to which InitVerb connects once. First, StartVerb sends a message with
// descriptors. The first descriptor is an open file that contains the order as JSON. The next three
// are standard input, standard output and standard error. If there is a proxy, the last one is the
// proxy's socket. Later StartVerb sends signals, and InitVerb sends the result.

// order describes what to run in a container.
type order struct {
	Argv    []string
	Env     []string // variables that are added to the environment of the image
	Workdir string
	// Terminal means that standard input is a terminal. It becomes the terminal of a new session.
	Terminal bool
	Network  bool // one of the descriptors is the socket of the proxy
	Limits   coleo.SandboxLimits
}

// signalledError is a message from StartVerb about a signal.
type signalledError struct {
	Signal syscall.Signal
}

// result is the last message from InitVerb.
type result struct {
	Code   int    // exit code of the program, or 128 plus the number of the signal that ended it
	Failed string // the reason if the program was not started; otherwise ""
}

const (
	maxMessage     = 64 << 10 // size of the largest message, in bytes
	maxDescriptors = 8
)

// listener is the end of the link that waits for the container to connect.
type listener struct {
	fd   int
	path string
}

// listen makes the link at `path`. The path may be longer than a unix socket's usual limit.
func listen(path string) (l listener, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return l, fmt.Errorf("make the link of the container: %w", err)
	}
	defer dir.Close()
	_ = os.Remove(path)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))})
	}
	if err == nil {
		err = errors.Join(os.Chmod(path, 0o600), unix.Listen(fd, 1))
	}
	if err != nil {
		return l, fmt.Errorf("make the link of the container: %w", err)
	}
	return listener{fd, path}, nil
}

func (l listener) close() {
	_ = unix.Close(l.fd)
	_ = os.Remove(l.path)
}

// accept waits until the container connects. It gives up after the time limit, or if `ended` reports that the
// container has ended.
func (l listener) accept(limit time.Duration, ended func() bool) (int, error) {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		set := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(set, 500)
		if n == 0 && err == nil && ended() {
			return 0, errors.New("it has ended")
		}
		if n <= 0 {
			continue
		}
		conn, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		if err != nil {
			continue
		}
		peer, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil && int(peer.Uid) == os.Geteuid() {
			return conn, nil
		}
		_ = unix.Close(conn)
		return 0, fmt.Errorf("another user has connected: %v, %w", peer, err)
	}
	return 0, fmt.Errorf("it has not connected within %s", limit)
}

// connect connects to the link.
func connect(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err != nil {
		return 0, fmt.Errorf("connect to %s: %w", path, err)
	}
	return fd, nil
}

// sendOrder sends an order together with descriptors. The order itself is in a file in memory,
// because it can be larger than a message.
func sendOrder(conn int, o order, fds ...int) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("order", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "order")
	defer file.Close()
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	return unix.Sendmsg(conn, []byte("{}"), unix.UnixRights(append([]int{fd}, fds...)...), nil, unix.MSG_NOSIGNAL)
}

// receiveOrder receives an order and descriptors from sendOrder.
func receiveOrder(conn int) (o order, fds []int, err error) {
	var empty struct{}
	if fds, err = receive(conn, &empty); err != nil {
		return o, nil, err
	}
	if len(fds) < 4 {
		return o, nil, fmt.Errorf("%d descriptors have come", len(fds))
	}
	file := os.NewFile(uintptr(fds[0]), "order")
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, fds[1:], err
}

func send(conn int, message any) error {
	text, err := json.Marshal(message)
	if err == nil {
		err = unix.Sendmsg(conn, text, nil, nil, unix.MSG_NOSIGNAL)
	}
	return err
}

// receive receives a message and the descriptors in it. When the other side has closed the link,
// receive returns io.EOF.
func receive(conn int, message any) (fds []int, err error) {
	text, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxDescriptors))
	var n, m int
	for {
		n, m, _, _, err = unix.Recvmsg(conn, text, rights, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	list, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, err
	}
	for _, one := range list {
		got, err := unix.ParseUnixRights(&one)
		if err != nil {
			return nil, err
		}
		fds = slices.Concat(fds, got)
	}
	return fds, json.Unmarshal(text[:n], message)
}
