package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/api/signin"
	"coleo.dev/localsocket"
	"coleo.dev/wire"
)

// open opens a WebSocket of the server at base with the given headers. Like a program and unlike a
// browser, it sends no headers of its own.
func open(t *testing.T, base, path string, headers ...string) (*websocket.Conn, error) {
	t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(base, "http")+path, h)
	if resp != nil {
		resp.Body.Close()
	}
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute)) // so that a test fails instead of hanging
	}
	return conn, err
}

// send sends a text message.
func send(t *testing.T, conn *websocket.Conn, text string) {
	t.Helper()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		t.Fatalf("send %s: %v", text, err)
	}
}

// readMessage reads the next message, and fails the test if the message does not contain the given
// text.
func readMessage(t *testing.T, conn *websocket.Conn, want string) string {
	t.Helper()
	_, data, err := conn.ReadMessage()
	if err != nil || !strings.Contains(string(data), want) {
		t.Fatalf("got %q (%v), want %q", data, err, want)
	}
	return string(data)
}

// closedWith reads messages until the server closes the connection, and returns the close code.
func closedWith(t *testing.T, conn *websocket.Conn) int {
	t.Helper()
	for {
		_, _, err := conn.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return closed.Code
		case err != nil:
			t.Fatalf("read: %v, want a close", err)
		}
	}
}

func TestWhoMayOpenAWebSocket(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{output: silentTerminal})
	s.times.auth = 10 * time.Second
	base := serveHTTP(t, s)
	page := signIn(t, s, overTCP(t))
	cookie := page.cookie.String()
	const (
		refused = iota // the server refuses the handshake
		asked          // the server wants the token in the first message
		in             // the server accepts the handshake and needs no token in a message
	)
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"token in a header, no Origin", []string{"X-API-Key", testToken}, in},
		{"token in a header, our Origin", []string{"X-API-Key", testToken, "Origin", base}, in},
		{"token in a header, a foreign Origin", []string{"X-API-Key", testToken, "Origin", "http://evil.example"},
			refused},
		{"wrong token", []string{"X-API-Key", "x"}, refused},
		{"cookie, our Origin, signed", []string{"Cookie", cookie, "Origin", base, "signed", ""}, in},
		{"cookie, no Origin, signed", []string{"Cookie", cookie, "signed", ""}, asked},
		{"no cookie, our Origin, signed", []string{"Origin", base, "signed", ""}, asked},
		{"cookie, our Origin, signed for another path",
			[]string{"Cookie", cookie, "Origin", base, "signed", "/ws/terminal/a2"}, refused},
		{"cookie, our Origin", []string{"Cookie", cookie, "Origin", base}, asked},
		{"cookie, no Origin", []string{"Cookie", cookie}, asked},
		{"cookie, a foreign Origin", []string{"Cookie", cookie, "Origin", "http://evil.example"}, refused},
		{"cookie, Origin null", []string{"Cookie", cookie, "Origin", "null"}, refused},
		{"a foreign Host", []string{"X-API-Key", testToken, "Host", "evil.example"}, refused},
		{"nothing", nil, asked},
	} {
		for _, path := range []string{"/ws", "/ws/terminal/a1"} {
			at := path
			if i := slices.Index(c.headers, "signed"); i >= 0 {
				at += "?signature=" + page.signature("GET", orElse(c.headers[i+1], path), "")
			}
			t.Run(c.name+path, func(t *testing.T) {
				t.Parallel()
				conn, err := open(t, base, at, c.headers...)
				if (err != nil) != (c.want == refused) {
					t.Fatalf("handshake: %v", err)
				}
				switch c.want {
				case asked:
					send(t, conn, `{"type":"ping"}`)
					readMessage(t, conn, `"success":false`)
					if code := closedWith(t, conn); code != websocket.ClosePolicyViolation {
						t.Errorf("closed with %d", code)
					}
				case in:
					send(t, conn, `{"type":"ping"}`)
					readMessage(t, conn, `pong`)
				}
			})
		}
	}
}

// silentTerminal is the output of a terminal that never shows anything.
func silentTerminal(ctx context.Context, from int64) (coleo.Output, error) {
	<-ctx.Done()
	return coleo.Output{Offset: from}, ctx.Err()
}

func TestTheFirstMessageMayShowTheToken(t *testing.T) {
	t.Parallel()
	base := serveHTTP(t, newServer(t, &scriptedBrain{}))
	conn, err := open(t, base, "/ws")
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"auth","apiKey":"`+testToken+`"}`)
	readMessage(t, conn, `"success":true`)
	send(t, conn, `{"type":"ping"}`)
	readMessage(t, conn, `pong`)

	wrong, err := open(t, base, "/ws")
	if err != nil {
		t.Fatal(err)
	}
	send(t, wrong, `{"type":"auth","apiKey":"x"}`)
	readMessage(t, wrong, `"success":false`)
	if code := closedWith(t, wrong); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

func TestWhoShowsNothingIsClosed(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	s.times.auth = 20 * time.Millisecond
	conn, err := open(t, serveHTTP(t, s), "/ws")
	if err != nil {
		t.Fatal(err)
	}
	if code := closedWith(t, conn); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

func TestASilentClientIsDropped(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	s.times.silent, s.times.ping = 50*time.Millisecond, 10*time.Millisecond
	conn, err := open(t, serveHTTP(t, s), "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetPingHandler(func(string) error { return nil }) // the client answers no ping
	if code := closedWith(t, conn); code != websocket.ClosePolicyViolation {
		t.Errorf("closed with %d", code)
	}
}

// TestAClientThatAnswersPingsStays checks that each answer to a ping moves the deadline of the
// connection. The deadline is an hour away, so that a slow machine cannot cause a timeout.
func TestAClientThatAnswersPingsStays(t *testing.T) {
	t.Parallel()
	const answered = 5
	s := newServer(t, &scriptedBrain{})
	s.times.silent, s.times.ping = time.Hour, 20*time.Millisecond
	deadlines := &deadlineListener{}
	conn, err := open(t, serveHTTPOn(t, s, deadlines), "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	pings, answer, before := 0, conn.PingHandler(), 0
	conn.SetPingHandler(func(data string) error {
		if pings++; pings == 1 {
			before = len(deadlines.beyond(s.times.silent / 2))
		}
		if err := answer(data); err != nil || pings != answered {
			return err
		}
		// The server reads this message after the answers to the pings, and then sends "pong".
		send(t, conn, `{"type":"ping"}`)
		return nil
	})
	readMessage(t, conn, "pong")
	all := deadlines.beyond(s.times.silent / 2)
	if before == 0 || len(all) < before+answered || !slices.IsSortedFunc(all, time.Time.Compare) {
		t.Errorf("%d answers have moved the deadlines %v to %v", answered, all[:before], all)
	}
}

// serveHTTPOn does the same as serveHTTP. If l is not nil, l records the deadlines of the server's
// connections.
func serveHTTPOn(t *testing.T, s *Server, l *deadlineListener) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	if l != nil {
		l.Listener, srv.Listener = srv.Listener, l
	}
	s.addr = srv.Listener.Addr().String()
	s.browsers, _ = signin.Open("", s.origin(), s.now)
	srv.Config.Handler = s.Handler(false)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL
}

// deadlineListener records the read deadlines that a server sets on its connections.
type deadlineListener struct {
	net.Listener
	mu  sync.Mutex
	all []time.Time
}

// Accept returns a connection whose read deadlines are recorded.
func (l *deadlineListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &deadlineConn{conn, l}, err
}

// beyond returns the recorded deadlines that are at least the given time away, without repetitions.
func (l *deadlineListener) beyond(away time.Duration) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := time.Now().Add(away)
	out := slices.DeleteFunc(slices.Clone(l.all), func(at time.Time) bool { return at.Before(from) })
	return slices.CompactFunc(out, time.Time.Equal)
}

type deadlineConn struct {
	net.Conn
	l *deadlineListener
}

func (c *deadlineConn) SetReadDeadline(at time.Time) error {
	c.l.mu.Lock()
	c.l.all = append(c.l.all, at)
	c.l.mu.Unlock()
	return c.Conn.SetReadDeadline(at)
}

// TestASlowReaderIsWaitedFor has a client that stops reading. It reads nothing for longer than the time after
// which the server drops a silent client. The server must keep the connection but take no more events for it.
// When the client reads again, it must receive every event.
func TestASlowReaderIsWaitedFor(t *testing.T) {
	t.Parallel()
	// most is the number of events, each with 64 KiB. If the server takes no event for the time `stuck`, the test
	// assumes that the server waits for the client.
	const most, stuck = 4000, 4 * time.Second
	steps, yielded := make(chan int), -1
	payload := []byte(`"` + strings.Repeat("x", 64<<10) + `"`)
	s := newServer(t, &scriptedBrain{subscribe: func(ctx context.Context) iter.Seq[wire.Update] {
		return func(yield func(wire.Update) bool) {
			for n := range most {
				select {
				case steps <- n:
				case <-ctx.Done():
					return
				}
				if !yield(wire.Update{Event: &coleo.Event{Seq: uint64(n), Payload: payload}, Cursor: "c"}) {
					return
				}
			}
		}
	}})
	s.times.write, s.times.silent, s.times.ping = stuck/4, stuck/4, stuck/20
	conn, err := open(t, serveHTTP(t, s), "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, `{"type":"subscribe","channel":"arm-events"}`)
	for waiting := true; waiting; {
		select {
		case yielded = <-steps:
		case <-time.After(stuck):
			waiting = false
		}
	}
	if yielded < 0 || yielded == most-1 {
		t.Fatalf("%d events were taken for a client that reads none, want a bounded number", yielded+1)
	}
	readMessage(t, conn, "subscribed")
	for n := range yielded + 1 {
		readMessage(t, conn, fmt.Sprintf(`"seq":%d,`, n))
	}
}

func TestTheServerClosesItsSocketsWhenItStops(t *testing.T) {
	t.Parallel()
	var released atomic.Bool
	s := newServer(t, &scriptedBrain{output: silentTerminal, lease: func(r wire.LeaseRequest) (coleo.Lease, error) {
		if r.Release {
			<-time.After(20 * time.Millisecond) // as slow as a slow host agent
			released.Store(true)
		}
		return coleo.Lease{ID: "l1"}, nil
	}})
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s.sock")
	l, err := localsocket.Listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, true) }()
	v, err := viewOf(t.Context(), path, "a1", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	conn := v.conn
	send(t, conn, `{"type":"lease"}`)
	readMessage(t, conn, `"l1"`)
	stop()
	if code := closedWith(t, conn); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if !released.Load() {
		t.Error("Serve returned before its viewers were done")
	}
}
