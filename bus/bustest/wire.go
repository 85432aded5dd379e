package bustest

import (
	"io"
	"net"
	"sync"

	"coleo.dev/localsocket"
)

// Wire is a connection to a bus that a test can cut.
type Wire struct {
	listener net.Listener
	dial     func() (net.Conn, error)

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// NewWire listens at the unix socket path. For each connection to the socket, it connects to the
// bus by calling dial, and passes data between the two connections. A Wire is never closed, because
// tests still need it while their processes shut down.
func NewWire(path string, dial func() (net.Conn, error)) (*Wire, error) {
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: l, dial: dial}
	go w.serve()
	return w, nil
}

func (w *Wire) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := w.dial()
		if err != nil || !w.keep(near, far) {
			near.Close()
			if err == nil {
				far.Close()
			}
			continue
		}
		for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
			go func() {
				_, _ = io.Copy(to, from)
				to.Close()
			}()
		}
	}
}

func (w *Wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conns...)
	return !w.cut
}

// Set ends all connections over the wire. If isCut is true, the wire then refuses new connections.
// Otherwise it accepts new connections again.
func (w *Wire) Set(isCut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = isCut
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}
