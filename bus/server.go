package bus

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"coleo.dev/localsocket"
)

// readyTimeout bounds the start of the embedded server. The start was measured at 38 ms.
const readyTimeout = 10 * time.Second

// maxPayload bounds one message, in bytes. The bound is many times the size of a prompt
// of 100 kB, or of a piece of output.
const maxPayload = 4 << 20

// acceptRetry is the pause after a failed accept, for example because the process has too
// many open files.
const acceptRetry = 100 * time.Millisecond

// Server is a NATS server inside this process. It has no TCP port. Clients of the same
// user connect to the Server over a unix socket.
type Server struct {
	ns     *natsserver.Server
	own    Key // this process's key, new at each start and kept only in memory
	socket *localsocket.Listener
	joined sync.WaitGroup
}

// Listen starts a server at the unix socket path. Host agents connect with the key
// hosts. The server calls admit for each connecting process, and refuses the process if
// admit returns an error. A nil admit accepts every process of this user. A connection
// with the key hosts cannot give orders. Listen returns the errors of
// localsocket.Listen.
func Listen(path string, hosts Key, admit func(localsocket.Peer) error) (*Server, error) {
	own, err := NewKey()
	if err != nil {
		return nil, err
	}
	ns, err := natsserver.NewServer(&natsserver.Options{
		Nkeys: []*natsserver.NkeyUser{
			{Nkey: own.public},
			{Nkey: hosts.public, Permissions: hostPermissions()},
		},
		MaxPayload: maxPayload, NoSigs: true, NoLog: true, DontListen: true,
	})
	if err != nil {
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		ns.Shutdown()
		return nil, fmt.Errorf("start the bus: it was not ready within %s", readyTimeout)
	}
	socket, err := localsocket.Listen(path, admit)
	if err != nil {
		ns.Shutdown()
		return nil, err
	}
	s := &Server{ns: ns, own: own, socket: socket}
	s.joined.Go(s.accept)
	return s, nil
}

// hostPermissions returns the permissions of a host agent. It may receive orders,
// answer orders, and publish heartbeats, claims and news of its log.
func hostPermissions() *natsserver.Permissions {
	return &natsserver.Permissions{
		Publish: &natsserver.SubjectPermission{Allow: []string{beatSubject, grewSubject, everyClaim}},
		Subscribe: &natsserver.SubjectPermission{Allow: []string{everyCommand, rollSubject, everyClaim,
			hostInbox + ".>"}},
		Response: &natsserver.ResponsePermission{MaxMsgs: 1, Expires: maxWait},
	}
}

// accept accepts connections to the socket and joins each connection to the server.
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

// join copies data between a connection and the server until one side ends.
func (s *Server) join(conn net.Conn) {
	defer conn.Close()
	inner, err := s.ns.InProcessConn()
	if err != nil { // the server is shutting down
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

// Dial connects this process to the bus. Only connections that are made by this method
// may give orders.
func (s *Server) Dial(name string) (*Conn, error) {
	return dial(s.own, name, nats.InProcessServer(s.ns))
}

// Close shuts down the server and closes its connections. It waits until both are done.
func (s *Server) Close() {
	_ = s.socket.Close()
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	s.joined.Wait()
}

// socketDialer connects a NATS client to a unix socket, whatever the client's address is.
type socketDialer struct{ path string }

// Dial connects to the socket. It ignores its arguments.
func (d socketDialer) Dial(string, string) (net.Conn, error) { return localsocket.Dial(d.path) }
