package opencodeapi

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"coleo.dev"
)

const askedEvent = `{"type":"permission.asked","properties":{"id":"per_1","sessionID":"one","permission":"bash",` +
	`"patterns":["ls"]}}`

// A person aborts a turn in OpenCode's window while a dialog is open. OpenCode then forgets the dialog, and
// sends no event about it. The turn can also be the turn of a subagent.
func TestADialogEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	for conversation, after := range map[string]struct {
		status string // of the session's own conversation
		state  coleo.State
	}{
		"one": {"idle", coleo.Idle},
		"two": {"busy", coleo.Processing},
	} {
		t.Run(conversation, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer(t)
			s := followingLong(t, f)
			f.events <- statusEvent("busy")
			f.events <- strings.Replace(askedEvent, "one", conversation, 1)
			s.becomes(t, coleo.WaitingApproval, "permission.asked")
			f.set(func(f *fakeServer) { f.status = after.status })
			f.events <- strings.Replace(statusEvent("idle"), "one", conversation, 1)
			s.becomes(t, after.state, "session.status "+after.status)
		})
	}
}

// While Interrupt asks the server for its present state, a person begins the next turn in OpenCode's window,
// and the turn asks for permission. The server has computed its answers before that. These answers must not
// hide the dialog.
func TestAnInterruptHidesNoLaterDialog(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	var aborts atomic.Bool
	asked, answer := make(chan bool, 9), make(chan bool)
	f.set(func(f *fakeServer) {
		f.routes["/session/one/abort"] = func(w http.ResponseWriter, _ *http.Request) {
			aborts.Store(true)
			f.events <- statusEvent("idle")
			_, _ = io.WriteString(w, "true")
		}
		f.routes["/permission"] = func(w http.ResponseWriter, _ *http.Request) {
			if aborts.Load() {
				asked <- true
				<-answer
			}
			_, _ = io.WriteString(w, "[]")
		}
	})
	s := followingLong(t, f)
	f.events <- statusEvent("busy")
	s.becomes(t, coleo.Processing, "session.status busy")
	done := make(chan error)
	go func() {
		_, err := s.Interrupt(t.Context())
		done <- err
	}()
	<-asked // the server is about to give an answer without the next turn
	f.events <- statusEvent("busy")
	f.events <- askedEvent
	s.becomes(t, coleo.WaitingApproval, "permission.asked")
	f.set(func(f *fakeServer) {
		f.status = "busy"
		f.routes["/permission"] = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `[{"id":"per_1","sessionID":"one","permission":"bash","patterns":["ls"]}]`)
		}
	})
	close(answer)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if now := s.State(); now.State != coleo.WaitingApproval {
		t.Errorf("the reading is %+v, but a dialog is open", now)
	}
}
