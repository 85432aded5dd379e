package opencodeapi

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// The server takes an order and begins to work, but the connection breaks before the server has answered. The
// order must count as arrived.
func TestAnOrderWhoseAnswerIsLostHasArrived(t *testing.T) {
	t.Parallel()
	for path, send := range map[string]func(s *Session) (coleo.Receipt, error){
		"prompt_async": func(s *Session) (coleo.Receipt, error) {
			return s.SendPrompt(t.Context(), coleo.Prompt{Text: "hello"})
		},
		"summarize": func(s *Session) (coleo.Receipt, error) { return s.Compact(t.Context()) },
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			f.set(func(f *fakeServer) {
				f.routes["/session/one/"+path] = func(http.ResponseWriter, *http.Request) {
					f.events <- statusEvent("busy")
					panic(http.ErrAbortHandler) // closes the connection
				}
			})
			s := followingLong(t, f)
			s.own.Provider, s.own.Model = "p", "m"
			r, err := send(s)
			if err != nil || r.Proof != coleo.ProofStarted {
				t.Errorf("the receipt is %+v, %v", r, err)
			}
		})
	}
}

// The stream of events breaks, and the turn of a prompt begins and ends before the next stream. The prompt is not lost.
func TestATurnBetweenTwoStreamsIsNotLost(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	ends := make(chan bool)
	f.set(func(f *fakeServer) {
		f.routes["/event"] = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-ends
		}
		f.routes["/session/one/prompt_async"] = func(http.ResponseWriter, *http.Request) {
			f.set(func(f *fakeServer) {
				delete(f.routes, "/event")
				f.routes["/session/one/message"] = func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, fmt.Sprintf(`[{"info":{"id":"msg_1","role":"user","time":{"created":%d}},`+
						`"parts":[{"type":"text","text":"hello"}]},%s]`, time.Now().UnixMilli(), replied))
				}
			})
			close(ends)
		}
	})
	s := followingLong(t, f)
	r, err := s.SendPrompt(t.Context(), coleo.Prompt{Text: "hello"})
	if err != nil || r.Proof != coleo.ProofStarted || r.Cursor >= s.log.Cursor() {
		t.Errorf("the receipt is %+v, %v, and the session's cursor is %d", r, err, s.log.Cursor())
	}
}

// Without a connection, nothing was sent. The error must not say that the prompt may have arrived.
func TestAPromptThatReachesNoServerIsNotLost(t *testing.T) {
	t.Parallel()
	s, _ := serverless(t)
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	s.h, s.ctx, s.server = h, t.Context(), newServer("http://127.0.0.1:1", "", "") // nothing listens on port 1
	s.status("idle")
	if _, err := s.SendPrompt(t.Context(), coleo.Prompt{Text: "hello"}); coleo.ErrorCode(err) != coleo.EUnavailable {
		t.Errorf("the error is %v", err)
	}
}

// Coleo waits after a failed turn before it sends a prompt. If a person begins a turn in OpenCode's window
// meanwhile, Coleo must refuse the prompt.
func TestAPromptAfterAFailedTurnRespectsATurnThatBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &Session{h: h, log: terminal.NewChanges(), facts: newFacts(), changed: make(chan struct{}), ctx: t.Context(),
			handle: coleo.Handle{Conversation: "one"}, server: newServer("", "", "")}
		s.status("busy")
		s.happens(t, errorEvent("APIError", "no credit"))
		s.status("idle")
		refused := make(chan error)
		go func() {
			_, err := s.mayBegin()
			refused <- err
		}()
		synctest.Wait() // mayBegin waits
		s.status("busy")
		if err := <-refused; coleo.ErrorCode(err) != coleo.EBusy {
			t.Errorf("the prompt may be sent to a working agent CLI: %v", err)
		}
	})
}

// A person sends a prompt to another conversation in OpenCode's window. While the session asks the server
// about that conversation, Coleo sends a prompt to its own conversation. The answer must come from Coleo's
// conversation.
func TestTheConversationStaysTheSameWhileAPromptIsSent(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	asked, answer, sent := make(chan bool), make(chan bool), make(chan bool)
	f.set(func(f *fakeServer) {
		f.routes["/session/two"] = func(w http.ResponseWriter, _ *http.Request) {
			asked <- true
			<-answer
			_, _ = io.WriteString(w, `{"id":"two"}`)
		}
		f.routes["/session/one/prompt_async"] = func(http.ResponseWriter, *http.Request) { close(sent) }
	})
	s := followingLong(t, f)
	s.own.Client = &Client{}
	f.events <- `{"type":"message.updated","properties":{"sessionID":"two","info":{"id":"msg_1","role":"user"}}}`
	<-asked
	done := make(chan error)
	go func() {
		_, err := s.SendPrompt(t.Context(), coleo.Prompt{Text: "hello"})
		done <- err
	}()
	<-sent
	close(answer)
	f.events <- statusEvent("busy")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if now := s.Handle().Conversation; now != "one" {
		t.Errorf("the prompt was sent to the conversation one, and the session reads the conversation %s", now)
	}
}
