package proxy

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// pair contains the connections to a client in the sandbox and to its server.
type pair struct {
	client, server net.Conn
	fromClient     *bufio.Reader // what the client sends
	request        *request      // the connection's only request; nil for a tunnel
	to             Rule
}

// exchange copies data between client and server until both have ended, or until neither has sent
// anything for a long time. It records the end of the connection.
func (s *Server) exchange(ctx context.Context, p pair) {
	defer context.AfterFunc(ctx, func() { _ = p.server.Close() })()
	t := &traffic{pair: p, idle: cmp.Or(s.idleTimeout, idleTimeout)}
	t.noteActivity()
	done := make(chan struct{})
	go func() {
		defer close(done)
		switch err := t.send(); {
		case err == nil:
			closeWrite(p.server)
		// The fault is on the client's side. If the server has stopped receiving, the client may still
		// receive the rest of the answer.
		case !t.serverLost.Load():
			_ = p.client.Close()
			_ = p.server.Close()
		}
	}()
	_, err := io.Copy(counted{t, p.client, &t.received, nil}, p.server)
	t.ended.Store(true)
	closeWrite(p.client)
	if deadline := time.Now().Add(endTimeout); err == nil {
		_ = p.client.SetDeadline(deadline)
		_ = p.server.SetDeadline(deadline)
	} else {
		_ = p.client.Close()
		_ = p.server.Close()
	}
	<-done
	s.record(Entry{Decision: Closed, Host: p.to.Host, Port: p.to.Port, Sent: t.sent.Load(), Received: t.received.Load()})
}

// traffic contains the state of a pair and counts its bytes.
type traffic struct {
	pair
	idle           time.Duration
	sent, received atomic.Int64
	ended          atomic.Bool // the server sends no more data
	serverLost     atomic.Bool // the server accepts no more data
}

// noteActivity restarts the time limit for idle connections on both sides.
func (t *traffic) noteActivity() {
	if t.ended.Load() {
		return
	}
	deadline := time.Now().Add(t.idle)
	_ = t.client.SetDeadline(deadline)
	_ = t.server.SetDeadline(deadline)
}

// errSecond is the error for a client that sends more than one request.
var errSecond = errors.New("the client has sent more than one request")

// send copies what the client sends. For a request, it copies one head and one body. Any byte after
// them is an error, because the server would treat it as a second request.
func (t *traffic) send() error {
	to := counted{t, t.server, &t.sent, &t.serverLost}
	if t.request == nil {
		_, err := io.Copy(to, t.fromClient)
		return err
	}
	if _, err := to.Write(t.request.head); err != nil {
		return err
	}
	if err := t.request.body.copyTo(to, t.fromClient); err != nil {
		return err
	}
	var next [1]byte
	if n, err := t.fromClient.Read(next[:]); n > 0 || !errors.Is(err, io.EOF) {
		return errSecond
	}
	return nil
}

// counted counts the bytes that are written.
type counted struct {
	t    *traffic
	to   io.Writer
	sum  *atomic.Int64
	lost *atomic.Bool // set when a write fails; can be nil
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	if c.sum.Add(int64(n)); err != nil && c.lost != nil {
		c.lost.Store(true)
	}
	c.t.noteActivity()
	return n, err
}

// closeWrite signals the end of the data to the other side.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
