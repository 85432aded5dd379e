package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"coleo.dev"
)

// times has the time limits of the server. Tests shorten them.
type times struct {
	body   time.Duration // for a request's body to arrive
	write  time.Duration // for sending one message to a WebSocket client
	silent time.Duration // for a WebSocket client to give a sign of life
	ping   time.Duration // between two pings to a WebSocket client
	auth   time.Duration // for the token of a WebSocket client to arrive
	poll   time.Duration // for one call of Brain.Output
	beat   time.Duration // between two signs of life to a client that follows events
}

func usualTimes() times {
	return times{
		body:   bodyTimeout,
		write:  10 * time.Second, // over loopback; a client that needs more has stopped reading
		silent: 60 * time.Second, // the published API promises this time
		ping:   20 * time.Second, // three pings fit into the time silent
		auth:   10 * time.Second,
		poll:   20 * time.Second,
		beat:   15 * time.Second, // proxies often end a connection that is silent for 30 s
	}
}

// boundBodies reads the body of each request before it calls the route. It bounds the
// size of the body and the time to read it.
func (s *Server) boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.readBody(w, r); err != nil {
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bodyRead is the body of a request after readBody has read it.
type bodyRead struct{ *bytes.Reader }

func (bodyRead) Close() error { return nil }

// bodyError is an error that occurred while a body was read.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// readBody reads the body of a request, within limits of size and time. Then it
// replaces the body with a copy in memory, which the route can read. net/http clears
// the connection's deadline at the end of the body, so the time limit does not apply to
// the route.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if _, ok := r.Body.(bodyRead); ok || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.times.body))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, bodyError{err}
	}
	r.Body = bodyRead{bytes.NewReader(body)}
	return body, nil
}

// refuse sends the error answer to a request that was refused.
func refuse(w http.ResponseWriter, err error) {
	var body bodyError
	if errors.As(err, &body) {
		refuseBody(w, body.error)
		return
	}
	writeError(w, err)
}

func refuseBody(w http.ResponseWriter, err error) {
	f := fail(coleo.Errorf(coleo.EInvalid, "read the request's body: %w", err))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		f.status = http.StatusRequestEntityTooLarge
		f.Err.Message = "a request's body has at most 1 MiB"
	case errors.Is(err, os.ErrDeadlineExceeded):
		f = fail(coleo.Errorf(coleo.ETimeout, "the request's body did not arrive in time"))
	}
	w.Header().Set("Connection", "close")
	writeFailure(w, f)
}
