package localsocket

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"coleo.dev"
)

// Peer describes the process at the other end of a connection. The kernel recorded it when the
// process connected or began to listen.
type Peer struct {
	UID int
	PID int // the pid of the process; 0 if the kernel does not report it
}

// PeerOf returns the process at the other end of a unix connection. Its errors are
// those of Inspect.
func PeerOf(conn syscall.Conn) (Peer, error) {
	var p Peer
	err := Inspect(conn, func(found Peer) error { p = found; return nil })
	return p, err
}

// Inspect calls checkPeer with the process at the other end of a connection, and returns the error of
// checkPeer. If there is no error, Inspect verifies that the process is still alive. If the process has ended,
// checkPeer may have looked at a later process with the same pid, so Inspect refuses it.
//
// Inspect returns EForbidden if another user is at the other end, or if the process has ended. It returns
// EUnsupported if the system does not report which process is at the other end.
func Inspect(conn syscall.Conn, checkPeer func(Peer) error) error {
	return withFD(conn, func(fd int) error { return InspectFD(fd, checkPeer) })
}

func withFD(conn syscall.Conn, do func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	var refused error
	if err := raw.Control(func(fd uintptr) { refused = do(int(fd)) }); err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	return refused
}

// InspectFD works like Inspect, but takes the descriptor of a socket.
func InspectFD(fd int, check func(Peer) error) error { return inspectPeer(fd, false, check) }

// inspectPeer works like InspectFD. If mayBeOutside is true, inspectPeer also accepts a peer without a
// pid. The kernel reports no pid for a peer outside of the caller's pid namespace.
func inspectPeer(fd int, mayBeOutside bool, check func(Peer) error) error {
	p, process, err := peerOf(fd)
	if err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	defer process.close()
	if p.UID != os.Geteuid() {
		return coleo.Errorf(coleo.EForbidden, "the other end of the socket belongs to user %d", p.UID)
	}
	if err := check(p); err != nil {
		return err
	}
	if hidden := mayBeOutside && p.PID == 0; !hidden && !process.isAlive() {
		return coleo.Errorf(coleo.EForbidden, "the process that connected (%d) has ended", p.PID)
	}
	return nil
}

// Dial connects to the socket at `path`. If another user listens at `path`, Dial sends nothing and returns
// EForbidden. In a sandbox, Dial checks only the user, because it cannot see the process that listens
// outside.
func Dial(path string) (*net.UnixConn, error) {
	conn, err := dialPath(path)
	if err != nil {
		return nil, err
	}
	anyone := func(Peer) error { return nil }
	if err := withFD(conn, func(fd int) error { return inspectPeer(fd, true, anyone) }); err != nil {
		conn.Close()
		return nil, coleo.Errorf(coleo.EForbidden, "connect to %s: %w; nothing was sent", path, err)
	}
	return conn, nil
}
