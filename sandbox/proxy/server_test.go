package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stage is a proxy with its own listener. The tests have no internet. So the stage assigns
// addresses to names, and connects to servers on loopback in place of public addresses.
type stage struct {
	*testing.T
	server  *Server
	addr    string                    // address of the proxy
	names   map[string][][]netip.Addr // the addresses of each name, one list for each look-up
	servers map[netip.AddrPort]string // the server on loopback for each address
	dialled []netip.AddrPort          // the addresses to which the proxy has connected
	mu      sync.Mutex
	entries []Entry
}

const modelAddr = "93.184.216.34"

func newStage(t *testing.T, change func(s *stage)) *stage {
	s := &stage{T: t, names: map[string][][]netip.Addr{}, servers: map[netip.AddrPort]string{}}
	s.server = &Server{Rules: Rules{Allow: []Rule{{Host: "model.example", Port: 80}, {Host: "model.example", Port: 443}}},
		Record: func(e Entry) { s.mu.Lock(); s.entries = append(s.entries, e); s.mu.Unlock() },
		lookUp: s.nameServer, dial: s.dialLoopback}
	s.name("model.example", modelAddr)
	if change != nil {
		change(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.server.Serve(ctx, l, s.server.ServeProxy); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return s
}

// name adds a look-up's result for a name. The last result is used for all further look-ups.
func (s *stage) name(name string, addrs ...string) {
	var list []netip.Addr
	for _, a := range addrs {
		list = append(list, netip.MustParseAddr(a))
	}
	s.names[name] = append(s.names[name], list)
}

func (s *stage) nameServer(_ context.Context, name string) ([]netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := s.names[name]
	if len(answers) == 0 {
		return nil, errors.New("no such host")
	}
	if len(answers) > 1 {
		s.names[name] = answers[1:]
	}
	return answers[0], nil
}

func (s *stage) dialLoopback(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	s.mu.Lock()
	s.dialled = append(s.dialled, addr)
	to, ok := s.servers[addr]
	s.mu.Unlock()
	if !ok {
		return nil, errors.New("connection refused")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", to)
}

// web starts a server. The proxy reaches it at the address modelAddr: at port 443 with TLS, and otherwise at
// port 80.
func (s *stage) web(tls bool, handler http.HandlerFunc) *httptest.Server {
	web, port := httptest.NewServer, uint16(80)
	if tls {
		web, port = httptest.NewTLSServer, 443
	}
	made := web(handler)
	s.Cleanup(made.Close)
	s.servers[netip.AddrPortFrom(netip.MustParseAddr(modelAddr), port)] = made.Listener.Addr().String()
	return made
}

// client returns an HTTP client that uses the proxy.
func (s *stage) client(made *httptest.Server) *http.Client {
	transport := made.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.addr})
	if transport.TLSClientConfig != nil {
		transport.TLSClientConfig.ServerName = "example.com"
	}
	s.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// send sends a text to the proxy and returns the whole response.
func (s *stage) send(text string) string {
	s.Helper()
	conn := s.open()
	if _, err := io.WriteString(conn, text); err != nil {
		s.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	got, _ := io.ReadAll(conn)
	return string(got)
}

func (s *stage) open() net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// told waits until the recorded entries meet a condition.
func (s *stage) told(what string, has func([]Entry) bool) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		list := slices.Clone(s.entries)
		s.mu.Unlock()
		if has(list) {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("the log does not say %s: %+v", what, list)
		}
	}
}

func TestBytesGoThroughUnchanged(t *testing.T) {
	t.Parallel()
	for _, tls := range []bool{false, true} {
		s := newStage(t, nil)
		made := s.web(tls, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Host", r.Host)
			all, _ := io.ReadAll(r.Body)
			_, _ = w.Write(all)
		})
		where := map[bool]string{false: "http://model.example/", true: "https://model.example/"}[tls]
		large := strings.Repeat("0123456789abcdef", 1<<16)
		client := s.client(made)
		for _, size := range []int{0, 1, len(large)} {
			for _, chunked := range []bool{false, true} {
				var in io.Reader = strings.NewReader(large[:size])
				if chunked {
					in = io.MultiReader(in)
				}
				r, err := client.Post(where, "text/plain", in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r.Body)
				_ = r.Body.Close()
				if err != nil || string(got) != large[:size] || r.Header.Get("X-Host") != "model.example" {
					t.Fatalf("TLS %t, %d bytes: %d come back for host %q, %v", tls, size, len(got), r.Header.Get("X-Host"), err)
				}
			}
		}
		client.CloseIdleConnections()
		s.told("that the bytes went", func(list []Entry) bool {
			return slices.ContainsFunc(list, func(e Entry) bool {
				return e.Decision == Closed && e.Sent > int64(len(large)) && e.Received > int64(len(large))
			}) && list[0].Decision == Allowed && list[0].Address == modelAddr && list[0].Host == "model.example"
		})
	}
}

func TestAllElseIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) {
		s.name("other.example", "1.1.1.1")
		s.server.Rules.Allow = append(s.server.Rules.Allow, Rule{Host: "inner.example", Port: 443},
			Rule{Host: "mixed.example", Port: 443}, Rule{Host: "localhost", Port: 443}, Rule{Host: "gone.example", Port: 443})
		s.name("inner.example", "10.0.0.1", "127.0.0.1", "::ffff:192.168.0.1", "fd00::1", "169.254.169.254",
			"64:ff9b::7f00:1")
		s.name("localhost", "127.0.0.1")
		s.name("mixed.example", "127.0.0.1", modelAddr)
	})
	for host, want := range map[string]string{
		"other.example:443": "403", "model.example:8443": "403", "x.model.example:443": "403", modelAddr + ":443": "403",
		"127.0.0.1:443": "403", "[::1]:443": "403", "[::ffff:127.0.0.1]:443": "403", "localhost:443": "403",
		"inner.example:443": "403", "0.0.0.0:443": "403", "gone.example:443": "502", "mixed.example:443": "502",
		"127.1:443": "400", "model.example": "400",
	} {
		if got := s.send("CONNECT " + host + " HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("a tunnel to %s: %q; want %s", host, got, want)
		}
	}
	for _, u := range []string{"http://other.example/", "http://localhost/", "http://169.254.169.254/latest",
		"http://[::1]/"} {
		got := s.send("GET " + u + " HTTP/1.1\r\nHost: model.example\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403") || !strings.Contains(got, "--sandbox-net") {
			t.Errorf("%s: %q; want 403", u, got)
		}
	}
	if want := netip.MustParseAddrPort(modelAddr + ":443"); !slices.Equal(s.dialled, []netip.AddrPort{want}) {
		t.Errorf("the proxy has connected to %v; want only %v, for mixed.example", s.dialled, want)
	}
	for _, e := range s.entries {
		if e.Decision == Allowed || e.Reason == "" {
			t.Errorf("the log has %+v", e)
		}
	}
}

// The name's second look-up would give an address of this machine. The proxy must not look the name
// up again.
func TestANameThatChangesItsAddressLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) {
		s.server.Rules.Allow = append(s.server.Rules.Allow, Rule{Host: "rebinding.example", Port: 80})
		s.name("rebinding.example", modelAddr)
		s.name("rebinding.example", "127.0.0.1")
	})
	s.web(false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "public") })
	ask := "GET http://rebinding.example/ HTTP/1.1\r\n\r\n"
	if got := s.send(ask); !strings.HasSuffix(got, "public") {
		t.Errorf("the first request gets %q", got)
	}
	if got := s.send(ask); !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Errorf("the second request gets %q; want 403", got)
	}
	if want := netip.MustParseAddrPort(modelAddr + ":80"); !slices.Equal(s.dialled, []netip.AddrPort{want}) {
		t.Errorf("the proxy has connected to %v; want only %v", s.dialled, want)
	}
}

// A client can hide a second request in the body of a request, or behind it. The server must receive only the
// first request.
func TestOneConnectionHasOneRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	var mu sync.Mutex
	var hosts []string
	s.web(false, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		hosts = append(hosts, r.Host+r.URL.Path)
	})
	const inner = "GET /hidden HTTP/1.1\r\nHost: other.example\r\n\r\n"
	s.send("GET http://model.example/a HTTP/1.1\r\nHost: other.example\r\n\r\n" + inner)
	s.send("GET http://model.example/b HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" + inner)
	s.send(fmt.Sprintf("POST http://model.example/c HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner))
	s.send("POST http://model.example/d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
	s.send("POST http://model.example/e HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" +
		"0\r\n\r\n" + inner)
	mu.Lock()
	defer mu.Unlock()
	for _, got := range hosts {
		if !strings.HasPrefix(got, "model.example/") || strings.Contains(got, "hidden") {
			t.Errorf("the server has got a request for %s", got)
		}
	}
	if !slices.Contains(hosts, "model.example/c") {
		t.Errorf("the server has got %v; want c", hosts)
	}
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const bound, idle = 16, 1000
	s := newStage(t, func(s *stage) { s.server.connections, s.server.headTimeout = bound, time.Second })
	s.web(false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	before := runtime.NumGoroutine()
	for range idle {
		s.open()
	}
	if more := runtime.NumGoroutine() - before; more > idle/2 {
		t.Errorf("%d idle connections have %d goroutines", idle, more)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn := s.open()
		_, _ = io.WriteString(conn, "GET http://model.example/ HTTP/1.1\r\n\r\n")
		got, _ := io.ReadAll(conn)
		if strings.HasSuffix(string(got), "hello") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("behind idle connections, a request gets %q", got)
		}
	}
}

func TestAForwardedPortReachesItsServer(t *testing.T) {
	t.Parallel()
	made := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host)
	}))
	defer made.Close()
	at := netip.MustParseAddrPort(made.Listener.Addr().String())
	to := Rule{Host: at.Addr().String(), Port: at.Port()}
	for _, allowed := range []bool{true, false} {
		s := newStage(t, func(s *stage) {
			s.server.dial = nil
			if allowed {
				s.server.Rules.Allow = append(s.server.Rules.Allow, to)
			}
		})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.server.Serve(t.Context(), l, func(ctx context.Context, c net.Conn) { s.server.ServeForward(ctx, c, to) })
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: me\r\nConnection: close\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if (err == nil) != allowed {
			t.Fatalf("allowed %t: %v, %v", allowed, r, err)
		}
		if !allowed {
			continue
		}
		if got, err := io.ReadAll(r.Body); string(got) != "me" || err != nil {
			t.Errorf("the server answers %q, %v", got, err)
		}
		_ = conn.Close()
		s.told("that the connection has ended", func(list []Entry) bool {
			return len(list) == 2 && list[1].Decision == Closed && list[1].Received > 0
		})
	}
}

func TestAnIdleTunnelEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(s *stage) { s.server.idleTimeout = 50 * time.Millisecond })
	made := s.web(true, nil)
	_ = made
	conn := s.open()
	_, _ = io.WriteString(conn, "CONNECT model.example:443 HTTP/1.1\r\n\r\n")
	if got, err := io.ReadAll(conn); !strings.HasPrefix(string(got), "HTTP/1.1 200") ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v; want a tunnel that ends", got, err)
	}
}

func TestTheLogKeepsTheNewestEntries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "network.jsonl")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	const entries = 20_000
	for i := range entries {
		l.Add(Entry{Decision: Refused, Host: fmt.Sprintf("host-%d.example", i), Port: 443, Reason: "not in the list"})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > maxLog || size < maxLog/2 {
		t.Errorf("the log has %d bytes; want at most %d, and the newest half", size, maxLog)
	}
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), fmt.Sprintf("host-%d.example", entries-1)) {
		t.Errorf("the last entry is missing, %v", err)
	}
}
