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

// times are the server's limits that tests shorten.
type times struct {
	body   time.Duration // for a request's body to arrive
	write  time.Duration // for one message to leave for a WebSocket client
	silent time.Duration // without a sign of a WebSocket client
	ping   time.Duration // between pings to it
	auth   time.Duration // for its token
	poll   time.Duration // one wait for terminal output
}

func usualTimes() times {
	return times{
		body:   bodyTimeout,
		write:  10 * time.Second, // loopback: a client that takes longer has stopped reading
		silent: 60 * time.Second, // the published API says so
		ping:   20 * time.Second, // three of them fit into that
		auth:   10 * time.Second,
		poll:   20 * time.Second,
	}
}

// boundBodies reads each body, bounded in size and time, before its route is
// asked. net/http takes the deadline off the connection when it has seen the
// body's end, so that the work itself may take longer.
func (s *Server) boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.times.body))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			refuseBody(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
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
