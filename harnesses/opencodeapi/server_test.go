package opencodeapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// fakeServer is a fake server of OpenCode whose answers the test chooses.
type fakeServer struct {
	url string

	mu      sync.Mutex
	answer  http.HandlerFunc // gives all answers if it is not nil
	status  string           // of the conversation
	streams []string         // what the next streams send before they end; later streams stay open
	silent  bool             // the streams in the list above stay open too

	routes map[string]http.HandlerFunc // gives the answers for these paths
	events chan string                 // the open stream sends these events
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{status: "idle", routes: map[string]http.HandlerFunc{}, events: make(chan string)}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *fakeServer) set(change func(*fakeServer)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	answer, status, silent, stream := f.answer, f.status, f.silent, ""
	if answer == nil {
		answer = f.routes[r.URL.Path]
	}
	if r.URL.Path == "/event" && answer == nil && len(f.streams) > 0 {
		stream, f.streams = f.streams[0], f.streams[1:]
	} else {
		silent = true
	}
	f.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/event":
		_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n"+stream)
		_ = http.NewResponseController(w).Flush()
		for silent {
			select {
			case e := <-f.events:
				_, _ = io.WriteString(w, "data: "+e+"\n\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.URL.Path == "/session/status":
		fmt.Fprintf(w, `{"one":{"type":%q}}`, status)
	default:
		_, _ = io.WriteString(w, "[]")
	}
}

// statusEvent is the server's event about a new status of the conversation.
func statusEvent(status string) string {
	return fmt.Sprintf(`{"type":"session.status","properties":{"sessionID":"one","status":{"type":%q}}}`, status)
}

// errorEvent is the server's event about an error of the conversation.
func errorEvent(name, message string) string {
	return fmt.Sprintf(`{"type":"session.error","properties":{"sessionID":"one",`+
		`"error":{"name":%q,"data":{"message":%q}}}}`, name, message)
}

// soon are short bounds for tests.
var soon = bounds{request: 300 * time.Millisecond, silence: 300 * time.Millisecond, trouble: time.Millisecond,
	answer: 1 << 20, event: 1 << 20}

// late are bounds so long that a server in a test does not reach them.
var late = bounds{request: time.Minute, silence: time.Minute, trouble: time.Minute, answer: 1 << 20, event: 1 << 20}

func (f *fakeServer) client() *server {
	srv := newServer(f.url, "secret", "/w")
	srv.bounds = soon
	return srv
}

// following returns a session that follows a server's events until the test ends.
func following(t *testing.T, f *fakeServer) *Session {
	t.Helper()
	return follow(t, f.client())
}

// followingLong is like following, but the session trusts a silent stream and waits long for each answer.
func followingLong(t *testing.T, f *fakeServer) *Session {
	t.Helper()
	srv := f.client()
	srv.bounds = late
	s := follow(t, srv)
	s.becomes(t, coleo.Idle, "session.status idle")
	return s
}

func follow(t *testing.T, srv *server) *Session {
	t.Helper()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := serverless(t)
	s.h, s.server, s.reading = h, srv, coleo.Reading{State: coleo.Initializing, Known: true}
	s.ctx, s.cancel = context.WithCancel(t.Context())
	var over sync.WaitGroup
	over.Go(func() { s.followEvents(srv) })
	t.Cleanup(func() { s.cancel(); over.Wait() })
	return s
}

// becomes waits until the session's reading has the given state and rule.
func (s *Session) becomes(t *testing.T, state coleo.State, rule string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		if now := s.State(); now.State == state && now.Rule == rule {
			if strings.ContainsAny(now.Detail, "\n\x1b") || (rule[:6] == "server") != (now.Detail != "") {
				t.Errorf("its detail is %q", now.Detail)
			}
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the reading is %+v, want %s (%s)", s.State(), state, rule)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func unauthorized(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "Unauthorized", http.StatusUnauthorized)
}

func TestAServerThatCannotBeFollowedIsToldUntilItCan(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]http.HandlerFunc{
		"server cannot be followed":   hang,
		"server refuses the password": unauthorized,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			f.set(func(f *fakeServer) { f.answer = c })
			s := following(t, f)
			s.becomes(t, coleo.Failed, rule)
			if _, err := s.readyServer(); coleo.ErrorCode(err) != coleo.EUnavailable {
				t.Errorf("a prompt is answered with %v", err)
			}
			f.set(func(f *fakeServer) { f.answer = nil })
			s.becomes(t, coleo.Idle, "session.status idle")
		})
	}
}

// An idle arm whose server no longer answers is not idle: a person may begin a turn, and no prompt can be sent.
func TestAServerThatStopsToAnswerIsNotIdle(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	s := following(t, f)
	s.becomes(t, coleo.Idle, "session.status idle")
	f.set(func(f *fakeServer) { f.answer = hang })
	s.becomes(t, coleo.Failed, "server cannot be followed")
	f.set(func(f *fakeServer) { f.answer = nil })
	s.becomes(t, coleo.Idle, "session.status idle")
}

// A server sends half of an event, and then closes the stream or sends nothing more. The session must
// recover the lost event: it opens a new stream and asks for the present state.
func TestHalfOfAnEventLosesNothing(t *testing.T) {
	t.Parallel()
	const half = `data: {"type":"session.status","properties":{"sessionID":"one","sta`
	for name, silent := range map[string]bool{"the stream ends": false, "the stream is silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			f.set(func(f *fakeServer) { f.streams, f.silent = []string{half}, silent })
			s := following(t, f)
			s.becomes(t, coleo.Idle, "session.status idle")
			f.set(func(f *fakeServer) { f.status = "busy" })
			s.becomes(t, coleo.Processing, "session.status busy")
		})
	}
}

func TestABadAnswerIsOneLine(t *testing.T) {
	t.Parallel()
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"all":`)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   coleo.Code
		want   string
	}{
		"it hangs":              {hang, coleo.EUnavailable, "has not answered GET /provider within 300ms"},
		"the password is wrong": {unauthorized, coleo.EUnauthorized, "refuses the password that Coleo gave to it"},
		"there is nothing":      {text(404, "<p>\nno\n"), coleo.ENotFound, "the server has nothing at /provider: <p>"},
		"it fails": {text(500, "a\x1b[31mb\n"+strings.Repeat("x", 9999)), coleo.EInternal,
			"the server refused GET /provider: 500 Internal Server Error: a[31mb"},
		"it sends no JSON":         {text(200, "<html>"), coleo.EInternal, "cannot be read: invalid character '<'"},
		"it sends nothing":         {text(200, ""), coleo.EInternal, "cannot be read: unexpected end of JSON"},
		"it sends half a document": {text(200, `{"all":[`), coleo.EInternal, "cannot be read: unexpected end of JSON"},
		"the answer breaks off":    {cut, coleo.EUnavailable, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			f.set(func(f *fakeServer) { f.answer = c.answer })
			var out any
			err := f.client().do(t.Context(), http.MethodGet, "/provider", nil, &out)
			if coleo.ErrorCode(err) != c.code || !strings.Contains(err.Error(), c.want) ||
				strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 400 {
				t.Errorf("%v, want %s: %s", err, c.code, c.want)
			}
		})
	}
}
