package localsocket

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"coleo.dev"
)

// Peer is the process at the other end of a connection, as it was when it
// connected or began to listen.
type Peer struct {
	UID int
	PID int // 0: the kernel does not say
}

// PeerOf asks the kernel who is at the other end of a unix connection. Errors:
// EUnsupported on a system that cannot say.
func PeerOf(conn net.Conn) (Peer, error) {
	s, ok := conn.(syscall.Conn)
	if !ok {
		return Peer{}, coleo.Errorf(coleo.EInternal, "a connection of type %T has no peer", conn)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("ask who is connected: %w", err)
	}
	var p Peer
	var asked error
	if err := raw.Control(func(fd uintptr) { p, asked = peerOf(int(fd)) }); err != nil {
		return Peer{}, fmt.Errorf("ask who is connected: %w", err)
	}
	if asked != nil {
		return Peer{}, fmt.Errorf("ask who is connected: %w", asked)
	}
	return p, nil
}

// checkPeer returns EForbidden when another user is at the other end.
func checkPeer(conn net.Conn) error {
	p, err := PeerOf(conn)
	if err != nil {
		return err
	}
	if p.UID != os.Geteuid() {
		return coleo.Errorf(coleo.EForbidden, "user %d is at the other end of the socket", p.UID)
	}
	return nil
}

// Dial connects to the socket at path. Errors: EForbidden when another user
// listens there. Nothing has been sent to that user.
func Dial(path string) (net.Conn, error) {
	conn, err := dialPath(path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		conn.Close()
		return nil, coleo.Errorf(coleo.EForbidden, "connect to %s: %w; nothing was sent", path, err)
	}
	return conn, nil
}
