package opencodeapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/record"
)

// A plugin of the work folder can print anything before OpenCode reports its address. Coleo must send its
// prompts and the password to no other machine.
func TestAServerOnAnotherMachineIsNotTheArms(t *testing.T) {
	t.Parallel()
	const own = "http://127.0.0.1:4096"
	for name, other := range map[string]string{
		"an address":        "http://192.0.2.1:80",
		"a name of digits":  "http://127.0.0.1.2:80",
		"a number too many": "http://127.0.0.1000:80",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output := "opencode server listening on " + other + "\r\nopencode server listening on " + own + "\r\n"
			if got, err := address(t, t.Context(), output); err != nil || got != own {
				t.Errorf("the server is at %q, %v; want %s", got, err, own)
			}
		})
	}
}

// address returns the address that Coleo finds in the output of a program.
func address(t *testing.T, ctx context.Context, output string) (string, error) {
	t.Helper()
	handle := fakeHolder{output: output}.handle(t)
	c, err := holder.Dial(handle.Dir, handle.Nonce)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return awaitAddress(ctx, c)
}

func TestOutputWithoutAnAddressIsNotKept(t *testing.T) {
	t.Parallel()
	var seen output
	for range 1000 {
		if found := seen.add([]byte(strings.Repeat("x", 10_000))); found != "" || len(seen.text) > mostSeen {
			t.Fatalf("it keeps %d bytes, and has found %q", len(seen.text), found)
		}
	}
	for _, piece := range []string{"\nopencode server listening on http://127.0", ".0.1:40"} {
		if found := seen.add([]byte(piece)); found != "" {
			t.Fatalf("half of an address is %q", found)
		}
	}
	if found := seen.add([]byte("96\n")); found != "http://127.0.0.1:4096" {
		t.Errorf("the address is %q", found)
	}
}

// A redirect with the status 307 would send the whole prompt to another server. Coleo must follow no
// redirect.
func TestNoPromptIsRedirected(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	other := newFakeServer(t)
	other.set(func(f *fakeServer) { f.answer = func(http.ResponseWriter, *http.Request) { reached.Add(1) } })
	f := newFakeServer(t)
	f.set(func(f *fakeServer) {
		f.answer = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.url, http.StatusTemporaryRedirect)
		}
	})
	err := f.client().do(t.Context(), http.MethodPost, "/session/one/prompt_async", promptBody{}, nil)
	if coleo.ErrorCode(err) != coleo.EInternal {
		t.Errorf("the prompt is answered with %v", err)
	}
	if err := f.client().events(t.Context(), func(event) error { return nil }); err == nil {
		t.Error("the events of another server are followed")
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// endless sends an answer of one line that has no end.
func endless(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat(" ", 32<<10)); err != nil {
			return
		}
	}
}

func TestAnEndlessAnswerIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	f.set(func(f *fakeServer) { f.answer = endless })
	srv := f.client()
	srv.bounds = late
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out any
	err := srv.do(ctx, http.MethodGet, "/provider", nil, &out)
	if coleo.ErrorCode(err) != coleo.EInternal || !strings.Contains(err.Error(), "has more than 1048576 bytes") {
		t.Errorf("an endless answer is %v", err)
	}
	err = srv.events(ctx, func(event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "has more than 1048576 bytes") {
		t.Errorf("an endless event is %v", err)
	}
}

// After an event that is too long, the session follows the server again and asks for the present state.
func TestAnEventThatIsTooLongLosesNothing(t *testing.T) {
	t.Parallel()
	f, long := newFakeServer(t), make(chan bool)
	f.set(func(f *fakeServer) {
		f.routes["/event"] = func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			if _, first := <-long; first {
				_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 2<<20))
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}
	})
	srv := f.client()
	srv.bounds = late
	s := follow(t, srv)
	s.becomes(t, coleo.Idle, "session.status idle")
	f.set(func(f *fakeServer) { f.status = "busy" })
	long <- true
	close(long)
	s.becomes(t, coleo.Processing, "session.status busy")
}

// A server can ask for any number of permissions, and for permissions of any size. The session must keep only
// a limited number of them, and only the beginning of a long text.
func TestManyAndLargeRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	s.status("busy")
	large := strings.Repeat("x", 1<<20)
	s.happens(t, fmt.Sprintf(`{"type":"permission.asked","properties":{"id":"p","permission":"bash",`+
		`"metadata":{"command":%q}}}`, large))
	d := s.State().Dialog
	if d == nil || len(d.Subject) > mostSubject || !d.Truncated {
		t.Fatalf("a command of %d bytes is shown as %.200v", len(large), d)
	}
	for i := range 2 * mostOpen {
		s.happens(t, fmt.Sprintf(`{"type":"question.asked","properties":{"id":"q%d","questions":[{"question":%q}]}}`, i,
			large[:mostQuestions+1]))
		s.happens(t, fmt.Sprintf(`{"type":"message.part.updated","properties":{"part":{"type":"tool","callID":"c%d",`+
			`"state":{"status":"running"}}}}`, i))
	}
	if n, calls := len(s.facts.requests), len(s.facts.tools); n > mostOpen || calls > mostOpen {
		t.Errorf("the session keeps %d requests and %d calls", n, calls)
	}
	if now := s.State().Dialog; now == nil || now.Fingerprint != d.Fingerprint {
		t.Errorf("the oldest dialog is hidden by %.200v", now)
	}
	s.happens(t, `{"type":"permission.replied","properties":{"requestID":"p"}}`)
	if d := s.State().Dialog; d == nil || len(d.Title) > mostSubject || !d.Truncated {
		t.Errorf("a large question is shown as %.200v", d)
	}
}

// The id of a conversation becomes part of the command line of a window. OpenCode's ids consist of letters
// and digits, so Coleo must refuse an id that looks like an option.
func TestAConversationWithTheNameOfAnOptionIsRefused(t *testing.T) {
	t.Parallel()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	f := newFakeServer(t)
	f.set(func(f *fakeServer) {
		f.routes["/session"] = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"--help"}`) }
	})
	s, _ := serverless(t)
	s.h, s.ctx, s.handle.Conversation = h, t.Context(), ""
	if err := s.converse(f.client()); coleo.ErrorCode(err) != coleo.EInternal || s.Handle().Conversation != "" {
		t.Errorf("the conversation is %q, %v", s.Handle().Conversation, err)
	}
}
