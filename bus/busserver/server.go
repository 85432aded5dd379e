// Package busserver contains the server of the bus. It is a NATS server that is part of the serve
// process and listens on a unix socket. All other processes connect to it with package bus alone.
package busserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"coleo.dev/bus"
	"coleo.dev/localsocket"
)

// readyTimeout is the time limit for the start of the NATS server. A measured start took 38 ms.
const readyTimeout = 10 * time.Second

// MaxPayload is the maximum size of one message, in bytes. A prompt of 100 kB or a piece of output
// is much smaller.
const MaxPayload = 4 << 20

// acceptRetry is the pause before the next attempt after accept has failed, for example
// because the process has too many open files.
const acceptRetry = 100 * time.Millisecond

// Server is a NATS server in this process. It has no TCP port. Clients of the same user
// connect to it over a unix socket.
type Server struct {
	ns     *server.Server
	own    bus.Key // the key of this process, which is new at each start and exists only in memory
	socket *localsocket.Listener
	joined sync.WaitGroup
}

// Listen starts a server at a unix socket with the given path. Host agents connect with the key hostKey. A
// connection with this key cannot give orders. The server calls checkPeer for each process that connects, and
// refuses the process if checkPeer returns an error. If checkPeer is nil, the server accepts every process of
// this user. Listen returns the errors of localsocket.Listen.
func Listen(path string, hostKey bus.Key, checkPeer func(localsocket.Peer) error) (*Server, error) {
	own, err := bus.NewKey()
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(&server.Options{
		Nkeys: []*server.NkeyUser{
			{Nkey: own.Public()},
			{Nkey: hostKey.Public(), Permissions: hostPermissions()},
		},
		MaxPayload: MaxPayload, NoSigs: true, NoLog: true, DontListen: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		ns.Shutdown()
		return nil, fmt.Errorf("start the bus: it was not ready within %s", readyTimeout)
	}
	socket, err := localsocket.Listen(path, checkPeer)
	if err != nil {
		ns.Shutdown()
		return nil, err
	}
	s := &Server{ns: ns, own: own, socket: socket}
	s.joined.Go(s.accept)
	return s, nil
}

// hostPermissions returns the permissions of host agents. NATS denies everything else.
func hostPermissions() *server.Permissions {
	rights := bus.HostRights()
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: rights.Publish},
		Subscribe: &server.SubjectPermission{Allow: rights.Subscribe},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: rights.ReplyTime},
	}
}

// accept accepts connections at the socket, and connects each of them to the NATS server.
func (s *Server) accept() {
	for {
		conn, err := s.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptRetry)
			continue
		}
		s.joined.Go(func() { s.join(conn) })
	}
}

// join copies data between a connection and the NATS server until either side ends.
func (s *Server) join(conn net.Conn) {
	defer conn.Close()
	inner, err := s.ns.InProcessConn()
	if err != nil { // this fails only while the server is shutting down
		return
	}
	var copying sync.WaitGroup
	for _, pair := range [][2]net.Conn{{inner, conn}, {conn, inner}} {
		copying.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			conn.Close()
			inner.Close()
		})
	}
	copying.Wait()
}

// Dial connects this process to the bus, with the right to give orders. No other connection has
// this right.
func (s *Server) Dial(name string) (*bus.Conn, error) { return bus.DialInProcess(s.ns, s.own, name) }

// Close shuts down the server, ends its connections, and waits until both have ended.
func (s *Server) Close() {
	_ = s.socket.Close()
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	s.joined.Wait()
}
