package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// running serves s over TCP and at a socket. It returns the URL and a client that uses the socket.
func running(t *testing.T, s *Server) (string, *apiclient.Client) {
	t.Helper()
	base := serveHTTP(t, s)
	return base, socketClient(t, s)
}

// openSigned opens a WebSocket as the page does.
func openSigned(t *testing.T, base string, p *pageStandIn, path string) *websocket.Conn {
	t.Helper()
	conn, err := open(t, base, path+"?signature="+p.signature("GET", path, ""), "Cookie", p.cookie.String(),
		"Origin", base)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestASignedWebSocketOpensOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	base := serveHTTP(t, s)
	p := signIn(t, s, overTCP(t))
	at := "/ws?signature=" + p.signature("GET", "/ws", "")
	for i, want := range []bool{true, false} {
		if _, err := open(t, base, at, "Cookie", p.cookie.String(), "Origin", base); (err == nil) != want {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
}

func TestSigningOutEndsWhatABrowserHasOpen(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*apiclient.Client, context.Context, string) error{
		"one": func(c *apiclient.Client, ctx context.Context, id string) error { return c.SignOut(ctx, id) },
		"all": func(c *apiclient.Client, ctx context.Context, _ string) error {
			_, err := c.SignOutAll(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waits, given := make(chan struct{}), make(chan error, 1)
			s := newServer(t, &scriptedBrain{wait: func(ctx context.Context, _ []coleo.State) (coleo.Arm, error) {
				close(waits)
				<-ctx.Done()
				given <- context.Cause(ctx)
				return coleo.Arm{}, ctx.Err()
			}})
			base, client := running(t, s)
			p := signIn(t, s, overTCP(t))
			conn := openSigned(t, base, p, "/ws")
			send(t, conn, `{"type":"ping"}`)
			readMessage(t, conn, "pong")
			go func() { p.status(p.signed("GET", "/api/arms/a1/wait?state=idle&timeout=30s", "")) }()
			<-waits
			list, err := client.Browsers(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatalf("browsers = %v (%v), want 1", list, err)
			}
			if err := end(client, t.Context(), list[0].ID); err != nil {
				t.Fatal(err)
			}
			if code := closedWith(t, conn); code != websocket.ClosePolicyViolation {
				t.Errorf("the WebSocket was closed with %d", code)
			}
			if cause := <-given; !errors.Is(cause, errRevoked) {
				t.Errorf("the request that waited ended by %v", cause)
			}
			if resp := overTCP(t)(p.bare("GET", "/api/signin", "")); resp.StatusCode != 401 {
				t.Errorf("a nonce for it: %d, want 401", resp.StatusCode)
			}
			if err := client.SignOut(t.Context(), list[0].ID); coleo.ErrorCode(err) != coleo.ENotFound {
				t.Errorf("signed out twice: %v, want not_found", err)
			}
		})
	}
}

func TestReplacingTheTokenEndsWhatTheFormerOneCould(t *testing.T) {
	t.Parallel()
	kept := make(chan string, 1)
	s := newServer(t, &scriptedBrain{})
	s.keepToken = func(token string) error { kept <- token; return nil }
	base, client := running(t, s)
	byHeader, err := open(t, base, "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	byMessage, err := open(t, base, "/ws")
	if err != nil {
		t.Fatal(err)
	}
	send(t, byMessage, `{"type":"auth","apiKey":"`+testToken+`"}`)
	readMessage(t, byMessage, `"success":true`)
	send(t, byHeader, `{"type":"ping"}`)
	readMessage(t, byHeader, "pong")
	page := openSigned(t, base, signIn(t, s, overTCP(t)), "/ws")

	if _, err := client.ReplaceToken(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*websocket.Conn{"header": byHeader, "message": byMessage} {
		if code := closedWith(t, conn); code != websocket.ClosePolicyViolation {
			t.Errorf("the WebSocket by %s was closed with %d", name, code)
		}
	}
	fresh := <-kept
	for token, want := range map[string]int{testToken: 401, fresh: 200} {
		r, _ := http.NewRequest("GET", base+"/api/arms", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if resp := overTCP(t)(r); resp.StatusCode != want {
			t.Errorf("a token: %d, want %d", resp.StatusCode, want)
		}
	}
	send(t, page, `{"type":"ping"}`)
	readMessage(t, page, "pong") // the browser's WebSocket stays open, because it does not use the token
}

func TestATokenThatCannotBeKeptIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	s.keepToken = func(string) error { return errors.New("the disk is full") }
	base, client := running(t, s)
	conn, err := open(t, base, "/ws", "X-API-Key", testToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ReplaceToken(t.Context()); coleo.ErrorCode(err) != coleo.EInternal ||
		!strings.Contains(err.Error(), "not replaced") {
		t.Fatalf("error = %v", err)
	}
	send(t, conn, `{"type":"ping"}`)
	readMessage(t, conn, "pong")
}

// A caller who has only the API token must not create a sign-in or a new token. Both would stay
// valid after the API token is replaced.
func TestWhatIsForTheSocketAlone(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(false)
	for path, method := range map[string]string{"/api/browsers/links": "POST", "/api/browsers": "GET",
		"/api/browsers/x": "DELETE", "/api/token": "POST"} {
		if resp, body := ask(t, h, method, path, "", "X-API-Key", testToken); resp.StatusCode != 403 {
			t.Errorf("%s %s with the token: %d %s, want 403", method, path, resp.StatusCode, body)
		}
	}
}

func TestWhoCalls(t *testing.T) {
	t.Parallel()
	callers := make(chan coleo.Caller, 1)
	s := newServer(t, &scriptedBrain{
		interrupt: func(ctx context.Context) error { callers <- callerOf(ctx); return nil },
		output: func(ctx context.Context, _ int64) (coleo.Output, error) {
			callers <- callerOf(ctx)
			return coleo.Output{End: true}, nil
		},
	})
	base, client := running(t, s)
	p := signIn(t, s, overTCP(t))
	id := s.browsers.List()[0].ID
	const interrupt = "/api/arms/a1/interrupt"
	for _, c := range []struct {
		name string
		call func()
		want coleo.Caller
	}{
		{"the page", func() { p.status(p.signed("POST", interrupt, "")) },
			coleo.Caller{Kind: coleo.CallerCookie, ID: id}},
		{"a program", func() {
			r, _ := http.NewRequest("POST", base+interrupt, nil)
			r.Header.Set("X-API-Key", testToken)
			overTCP(t)(r)
		}, coleo.Caller{Kind: coleo.CallerToken, ID: fingerprint(testToken)}},
		{"the command", func() { _, _ = client.Interrupt(t.Context(), "a1") },
			coleo.Caller{Kind: coleo.CallerSocket, UID: os.Getuid(), PID: os.Getpid(),
				Program: filepath.Base(os.Args[0])}},
		{"the page's WebSocket", func() { openSigned(t, base, p, "/ws/terminal/a1") },
			coleo.Caller{Kind: coleo.CallerCookie, ID: id}},
		{"a program's WebSocket, by its first message", func() {
			conn, err := open(t, base, "/ws/terminal/a1")
			if err == nil {
				send(t, conn, `{"type":"auth","apiKey":"`+testToken+`"}`)
			}
		}, coleo.Caller{Kind: coleo.CallerToken, ID: fingerprint(testToken)}},
	} {
		c.call()
		if got := <-callers; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if strings.Contains(fingerprint(testToken), testToken[:4]) {
		t.Error("the fingerprint gives the token away")
	}
}

// A browser stays signed in when the server restarts, but must get a nonce of the new process for
// its signatures. A signature with a nonce of the old process is invalid.
func TestABrowserStaysSignedInOverARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "browsers.json")
	begin := func() *Server {
		s, err := New(Config{Brain: &scriptedBrain{}, Token: testToken, Addr: "127.0.0.1:8080", Browsers: file})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	former := begin()
	p := signIn(t, former, within(former.Handler(false)))
	left := p.signed("GET", "/api/arms", "") // signed with a nonce of the old process, but not sent to it
	p.send = within(begin().Handler(false))
	if got := p.status(left); got != 401 {
		t.Errorf("signed for the former run: %d, want 401", got)
	}
	p.renew()
	if got := p.status(p.signed("GET", "/api/arms", "")); got != 200 {
		t.Errorf("signed for this run: %d, want 200", got)
	}
}
