package bus

import (
	"fmt"
	"net"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"coleo.dev"
)

// readyTimeout bounds the start of the embedded server; it took 38 ms where it
// was measured.
const readyTimeout = 10 * time.Second

// maxPayload bounds one message, in bytes: a prompt of 100 kB and a piece of
// output fit many times.
const maxPayload = 4 << 20

// Server is a NATS server inside this process.
type Server struct {
	ns *natsserver.Server
}

// Listen starts a server on a loopback address; port 0 takes a free one. Only
// clients with the token get in.
func Listen(addr, token string) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%q is no address for the bus: %v", addr, err)
	}
	number, err := strconv.Atoi(port)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() || token == "" {
		return nil, coleo.Errorf(coleo.EInvalid, "the embedded bus listens on loopback only, with a token: not on %q", addr)
	}
	if number == 0 {
		number = natsserver.RANDOM_PORT
	}
	ns, err := natsserver.NewServer(&natsserver.Options{
		Host: host, Port: number, Authorization: token, MaxPayload: maxPayload,
		NoSigs: true, NoLog: true, DontListen: false,
	})
	if err != nil {
		return nil, fmt.Errorf("start the bus: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(readyTimeout) {
		ns.Shutdown()
		return nil, coleo.Errorf(coleo.EConflict, "the bus cannot listen on %s: is the port taken?", addr)
	}
	return &Server{ns: ns}, nil
}

// URL is what clients dial.
func (s *Server) URL() string { return s.ns.ClientURL() }

// Close ends the server and its connections.
func (s *Server) Close() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
}
