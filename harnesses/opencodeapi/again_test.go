package opencodeapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"coleo.dev"
	"coleo.dev/record"
)

// answerable returns a session whose server counts the answers to the requests with the id x.
func answerable(t *testing.T) (*Session, *atomic.Int32) {
	t.Helper()
	h, err := New(nil, record.NewWatcher())
	if err != nil {
		t.Fatal(err)
	}
	f, answers := newFakeServer(t), new(atomic.Int32)
	f.set(func(f *fakeServer) {
		for _, path := range []string{"/permission/x/reply", "/question/x/reply"} {
			f.routes[path] = func(w http.ResponseWriter, _ *http.Request) {
				answers.Add(1)
				_, _ = io.WriteString(w, "true")
			}
		}
	})
	s, _ := serverless(t)
	s.h, s.server = h, f.client()
	s.ctx, s.cancel = context.WithCancel(t.Context())
	s.status("busy")
	return s, answers
}

const (
	permission = `{"id":"x","sessionID":"one","permission":"bash","metadata":{"command":%q}}`
	questions  = `{"id":"x","questions":[%s{"question":"Last?","options":[{"label":"a"}]}]}`
	first      = `{"question":"First?","options":[{"label":"a"}]},`
)

// A plugin of the work folder can make the server ask again with the same id. An answer to the first request must
// not approve a command that nobody has seen.
func TestAnAnswerApprovesOnlyTheCommandThatWasShown(t *testing.T) {
	t.Parallel()
	s, answers := answerable(t)
	ask := func(command string) coleo.Fingerprint {
		t.Helper()
		s.happens(t, `{"type":"permission.asked","properties":`+fmt.Sprintf(permission, command)+`}`)
		d := s.State().Dialog
		if d == nil || d.Subject != command {
			t.Fatalf("the dialog is %+v, want the command %s", d, command)
		}
		return d.Fingerprint
	}
	seen := ask("ls")
	if again := ask("ls"); again != seen {
		t.Errorf("the same request is another dialog: %s and %s", seen, again)
	}
	ask("rm -rf ~")
	err := s.Respond(t.Context(), seen, coleo.Decision{Choice: coleo.ChoiceApprove})
	if coleo.ErrorCode(err) != coleo.EStale || answers.Load() != 0 {
		t.Errorf("the answer to an earlier command: %v; the server got %d answers", err, answers.Load())
	}
}

// Coleo keeps the answer to the first of two questions. Then the server reports only one question with the same id.
func TestAnswersAreNotKeptForOtherQuestions(t *testing.T) {
	t.Parallel()
	s, answers := answerable(t)
	s.happens(t, `{"type":"question.asked","properties":`+fmt.Sprintf(questions, first)+`}`)
	d := s.State().Dialog
	if d == nil || d.Title != "First?" {
		t.Fatalf("the dialog is %+v", d)
	}
	choose := coleo.Decision{Choice: coleo.ChoiceAnswer, Option: 1}
	if err := s.Respond(t.Context(), d.Fingerprint, choose); err != nil {
		t.Fatal(err)
	}
	server := newFakeServer(t)
	server.set(func(f *fakeServer) {
		f.routes["/question"] = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, "["+questions+"]", "")
		}
		f.status = "busy"
	})
	if err := s.resync(server.client()); err != nil {
		t.Fatal(err)
	}
	if d := s.State().Dialog; d == nil || d.Title != "Last?" || answers.Load() != 0 {
		t.Errorf("the dialog is %+v; the server got %d answers", d, answers.Load())
	}
}
