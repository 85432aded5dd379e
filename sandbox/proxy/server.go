package proxy

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// These bounds apply to a proxy unless a test sets others.
const (
	// maxConnections is how many connections each listener may have. The proxy closes further
	// connections at once. An agent CLI has fewer than ten at a time.
	maxConnections = 128
	// headTimeout is how long a client may take to send the head of a request. Programs send it at once.
	headTimeout = 15 * time.Second
	// lookUpTimeout is the time limit for looking up a name. In this time, a resolver tries two servers
	// twice.
	lookUpTimeout = 20 * time.Second
	// dialTimeout is the time limit for connecting to one address. In this time, the kernel sends four connection
	// requests.
	dialTimeout = 10 * time.Second
	// idleTimeout is how long a connection may be idle before it is closed. A model may think for
	// minutes before it sends its first byte.
	idleTimeout = time.Hour
	// endTimeout is how long a client may keep a connection that the server has ended.
	endTimeout = 10 * time.Second
	// maxAddresses is how many addresses of one host the proxy tries.
	maxAddresses = 8
)

// Server answers the connections of one sandbox.
type Server struct {
	Rules  Rules
	Record func(Entry) // called with each decision, possibly by several goroutines at once

	// These functions use the machine's own network, unless a test replaces them.
	lookUp      func(ctx context.Context, host string) ([]netip.Addr, error)
	dial        func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	connections int
	headTimeout time.Duration
	idleTimeout time.Duration
}

// Serve accepts connections from l. For each connection, it calls `answer` in a new goroutine. The caller
// passes ServeProxy as `answer`, or a function that calls ServeForward. If too many connections are open,
// Serve closes a new one at once.
//
// When ctx ends or l is closed, Serve closes the listener and all connections. It returns when all calls of
// `answer` have returned.
func (s *Server) Serve(ctx context.Context, l net.Listener, answer func(context.Context, net.Conn)) {
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	free := make(chan struct{}, cmp.Or(s.connections, maxConnections))
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // this can happen if the process has too many open files
			time.Sleep(acceptPause)
			continue
		}
		select {
		case free <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-free }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			answer(ctx, conn)
		})
	}
}

// acceptPause is the pause after a failed accept, so that the proxy does not use a whole processor.
const acceptPause = 100 * time.Millisecond

// ServeForward connects a client to the server of a rule.
func (s *Server) ServeForward(ctx context.Context, client net.Conn, to Rule) {
	server, err := s.connect(ctx, to.Host, to.Port)
	if err != nil {
		return
	}
	defer server.Close()
	s.exchange(ctx, pair{client: client, server: server, fromClient: bufio.NewReader(client), to: to})
}

// ServeProxy answers one request of a client.
func (s *Server) ServeProxy(ctx context.Context, client net.Conn) {
	_ = client.SetDeadline(time.Now().Add(cmp.Or(s.headTimeout, headTimeout)))
	reader := bufio.NewReaderSize(client, maxLine)
	q, err := readRequest(reader)
	if err != nil {
		if !errors.Is(err, io.EOF) && !isNet(err) {
			s.record(Entry{Decision: Refused, Reason: err.Error()})
			refuse(client, "400 Bad Request", err.Error())
		}
		return
	}
	_ = client.SetDeadline(time.Time{})
	server, err := s.connect(ctx, q.host, q.port)
	if err != nil {
		status := "502 Bad Gateway"
		if errors.As(err, new(refusal)) {
			status = "403 Forbidden"
		}
		refuse(client, status, err.Error())
		return
	}
	defer server.Close()
	p := pair{client: client, server: server, fromClient: reader, to: Rule{Host: q.host, Port: q.port}}
	if q.connect {
		if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
			s.exchange(ctx, p)
		}
		return
	}
	p.request = &q
	s.exchange(ctx, p)
}

// isNet reports whether an error is about the connection instead of the request.
func isNet(err error) bool { return errors.As(err, new(net.Error)) }

// refuse answers a request that is not forwarded to any server. `text` is for people.
func refuse(client net.Conn, status, text string) {
	_ = client.SetWriteDeadline(time.Now().Add(endTimeout))
	text = "Coleo: " + text + "\n"
	_, _ = fmt.Fprintf(client, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s", status, len(text), text)
}

// refusal is the error for a server that the sandbox may not reach.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// connect connects to a server if the rules allow it. It looks up the server's name only once. Its error
// is for people, and is a refusal if the rules do not allow the server.
func (s *Server) connect(ctx context.Context, host string, port uint16) (net.Conn, error) {
	list, err := s.addresses(ctx, host, port)
	if err == nil {
		for _, addr := range list {
			var server net.Conn
			if server, err = s.dialOne(ctx, netip.AddrPortFrom(addr, port)); err == nil {
				s.record(Entry{Decision: Allowed, Host: host, Port: port, Address: addr.String()})
				return server, nil
			}
		}
	}
	e := Entry{Decision: Failed, Host: host, Port: port, Reason: err.Error()}
	if errors.As(err, new(refusal)) {
		e.Decision = Refused
		err = refusal{"the sandbox does not reach " + authority(host, port) + ": " + err.Error()}
	} else {
		err = fmt.Errorf("the sandbox may reach %s, but: %w", authority(host, port), err)
	}
	s.record(e)
	return nil, err
}

// addresses returns the addresses of a host to which the proxy may connect. If the error is nil, there
// is at least one.
func (s *Server) addresses(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	rule, ok := s.Rules.find(host, port)
	if !ok {
		return nil, refusal{"it is not among the hosts of --sandbox-net"}
	}
	found := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		found = append(found, addr)
	} else {
		ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
		defer cancel()
		if found, err = s.lookUpHost(ctx, host); err != nil {
			return nil, fmt.Errorf("look up its name: %w", err)
		}
	}
	var out []netip.Addr
	var reasons []string
	for _, addr := range found[:min(len(found), maxAddresses)] {
		addr = addr.Unmap()
		if reason := s.Rules.permits(rule, addr); reason != "" {
			reasons = append(reasons, reason)
			continue
		}
		out = append(out, addr)
	}
	if len(out) == 0 {
		return nil, refusal{cmp.Or(strings.Join(reasons, ", "), "it has no address")}
	}
	return out, nil
}

// lookUpHost returns the addresses of a name. It adds a dot to the end of the name, so that the resolver
// does not try the name in other domains. A name without any dot belongs to this machine or its network,
// and is looked up unchanged.
func (s *Server) lookUpHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if s.lookUp != nil {
		return s.lookUp(ctx, host)
	}
	if strings.Contains(host, ".") {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (s *Server) dialOne(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if s.dial != nil {
		return s.dial(ctx, addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
}

func (s *Server) record(e Entry) {
	e.Time = time.Now().UTC()
	s.Record(e)
}
