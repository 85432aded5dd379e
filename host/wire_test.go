package host

import (
	"io"
	"net"
	"sync"
	"testing"

	"coleo.dev/localsocket"
)

// wire is a way to the bus that can be cut.
type wire struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newWire leads to the bus at a socket; its own socket is returned too. It is
// there until all tests have ended: the stage is taken down over it.
func newWire(t *testing.T, to string) (*wire, string) {
	t.Helper()
	path := to + ".wire"
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to}
	go w.serve()
	return w, path
}

func (w *wire) serve() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := localsocket.Dial(w.to)
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

func (w *wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conns...)
	return !w.cut
}

// set cuts the wire, with all that goes over it, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}
