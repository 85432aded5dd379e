package main

import (
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// fakeNetwork is a relay in front of a model server. It fakes two faults of a network that the
// server itself cannot have: a port that refuses connections, and a peer that accepts a connection
// and never says anything.
type fakeNetwork struct {
	t        *testing.T
	to, addr string

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	silent   bool
	conns    map[net.Conn]bool
	ignored  []time.Time // the times at which unanswered connections arrived
}

// The relay's ports are below the range from which the kernel assigns ports. So no other program
// takes the port while the relay refuses connections.
const (
	firstRelayPort = 20000
	relayPorts     = 10000
)

// newFakeNetwork starts a relay to the server at the given host and port. It relays until the test
// ends, or until refuse or hang is called.
func newFakeNetwork(t *testing.T, to string) *fakeNetwork {
	t.Helper()
	n := &fakeNetwork{t: t, to: to, conns: map[net.Conn]bool{}}
	for range 100 { // another test may use the port
		n.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(firstRelayPort+rand.IntN(relayPorts)))
		if l, err := net.Listen("tcp", n.addr); err == nil {
			n.listen(l)
			t.Cleanup(n.refuse)
			return n
		}
	}
	t.Fatal("there is no free port for the relay")
	return nil
}

func (n *fakeNetwork) url() string { return "http://" + n.addr }

// listen relays all new connections of l.
func (n *fakeNetwork) listen(l net.Listener) {
	n.mu.Lock()
	n.listener = l
	n.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // refuse has closed the listener
			}
			n.accept(c)
		}
	}()
}

func (n *fakeNetwork) accept(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = true
	if n.silent {
		n.ignored = append(n.ignored, time.Now())
		return
	}
	server, err := net.Dial("tcp", n.to)
	if err != nil {
		_ = c.Close()
		return
	}
	n.conns[server] = true
	go n.relay(c, server)
	go n.relay(server, c)
}

// relay copies bytes until either side closes its connection. It then closes both.
func (n *fakeNetwork) relay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range []net.Conn{to, from} {
		_ = c.Close()
		delete(n.conns, c)
	}
}

// refuse closes all connections and refuses new ones.
func (n *fakeNetwork) refuse() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener != nil {
		_ = n.listener.Close()
		n.listener = nil
	}
	n.drop()
}

// hang closes all connections. It accepts new ones, but neither reads from them nor writes to them.
func (n *fakeNetwork) hang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = true
	n.drop()
}

// mend makes the relay relay new connections again.
func (n *fakeNetwork) mend() {
	n.t.Helper()
	n.mu.Lock()
	n.silent = false
	n.drop()
	refused := n.listener == nil
	n.mu.Unlock()
	if !refused {
		return
	}
	l, err := net.Listen("tcp", n.addr)
	if err != nil {
		n.t.Fatal(err)
	}
	n.listen(l)
}

// drop closes all connections. The caller must hold mu.
func (n *fakeNetwork) drop() {
	for c := range n.conns {
		_ = c.Close()
	}
	clear(n.conns)
}

// unanswered returns the times at which unanswered connections arrived.
func (n *fakeNetwork) unanswered() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]time.Time(nil), n.ignored...)
}

func TestTheFakeNetworkRefusesAndHangsAndIsMended(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	n := newFakeNetwork(t, server.Addr().String())
	get := func(limit time.Duration) (string, error) {
		c, err := net.Dial("tcp", n.addr)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(limit))
		text, err := io.ReadAll(c)
		return string(text), err
	}
	for range 2 {
		if text, err := get(patience); text != "hello" || err != nil {
			t.Fatalf("relayed: %q, %v", text, err)
		}
		n.refuse()
		if text, err := get(patience); err == nil {
			t.Fatalf("refused: %q", text)
		}
		n.mend()
	}
	n.hang()
	if text, err := get(200 * time.Millisecond); text != "" || err == nil || len(n.unanswered()) != 1 {
		t.Fatalf("silent: %q, %v, %d connections", text, err, len(n.unanswered()))
	}
	n.mend()
	if text, err := get(patience); text != "hello" || err != nil {
		t.Fatalf("relayed again: %q, %v", text, err)
	}
}
