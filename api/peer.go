package api

import (
	"context"
	"net"
	"net/http"
	"syscall"

	"coleo.dev/localsocket"
)

// visitor is who is at the other end of a connection over the socket.
type visitor struct {
	peer    localsocket.Peer
	refused error // why nothing is done for it; nil: it may command
}

// visitorKey is the key of the visitor in the context of a connection.
type visitorKey struct{}

// connected notes who has connected over the socket. Over TCP the kernel does
// not say.
func (s *Server) connected(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, visitorKey{}, s.inspect(c))
}

func (s *Server) inspect(conn syscall.Conn) visitor {
	var v visitor
	v.refused = localsocket.Inspect(conn, func(p localsocket.Peer) error {
		v.peer = p
		if s.admit == nil {
			return nil
		}
		return s.admit(p.PID)
	})
	return v
}

// visitorOf returns who calls over the socket; false over TCP.
func visitorOf(r *http.Request) (visitor, bool) {
	v, ok := r.Context().Value(visitorKey{}).(visitor)
	return v, ok
}
