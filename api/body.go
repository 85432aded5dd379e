package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/timelimit"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// times contains the time limits of the server. Tests use shorter ones.
type times struct {
	body   time.Duration // how long the body of a request may take to arrive
	write  time.Duration // how long sending one message to a WebSocket client may take
	silent time.Duration // how long a WebSocket client may stay silent
	ping   time.Duration // the time between two pings to a WebSocket client
	auth   time.Duration // how long a WebSocket client may take to send its token
	poll   time.Duration // how long one call of Brain.Output may wait
	beat   time.Duration // the time between two signs of life for a client that follows events
}

func usualTimes() times {
	return times{
		body:   bodyTimeout,
		write:  10 * time.Second, // a client that takes longer has stopped reading, because connections are local
		silent: 60 * time.Second, // the published API promises clients this time
		ping:   20 * time.Second, // so often that the server sends three pings before it drops a silent client
		auth:   10 * time.Second,
		poll:   20 * time.Second,
		beat:   15 * time.Second, // less than 30 s, after which many proxies end a silent connection
	}
}

// boundBodies reads the body of each request before it calls the route. It limits the size of the
// body and the time for reading the body.
func (s *Server) boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.readBody(w, r); err != nil {
			refuse(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bodyRead is the body of a request after readBody has read the whole body.
type bodyRead struct{ *bytes.Reader }

func (bodyRead) Close() error { return nil }

// bodyError is an error that occurred while readBody read a body.
type bodyError struct{ error }

func (e bodyError) Unwrap() error { return e.error }

// readBody reads the body of a request, and limits the size of the body and the time for reading
// it. It then replaces the body with a copy in memory, which the route can read. The time limit
// does not apply to the route, because net/http clears the connection's deadline at the end of the
// body.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if _, ok := r.Body.(bodyRead); ok || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.times.body))
	from := io.ReadCloser(http.MaxBytesReader(w, r.Body, maxBody))
	if isWebhook(r) {
		from = io.NopCloser(io.LimitReader(r.Body, trigger.MaxBody+1)) // one byte more than allowed, to notice a larger body
	}
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, bodyError{err}
	}
	r.Body = bodyRead{bytes.NewReader(body)}
	return body, nil
}

// refuse sends the answer to a request that was refused.
func refuse(w http.ResponseWriter, err error) {
	var body bodyError
	if errors.As(err, &body) {
		refuseBody(w, body.error)
		return
	}
	writeError(w, err)
}

func refuseBody(w http.ResponseWriter, err error) {
	f := failureOf(coleo.Errorf(coleo.EInvalid, "read the request's body: %w", err))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		f.status = http.StatusRequestEntityTooLarge
		f.Err.Message = "a request's body has at most 1 MiB"
	case errors.Is(err, os.ErrDeadlineExceeded):
		f = failureOf(coleo.Errorf(coleo.ETimeout, "the request's body did not arrive in time"))
	}
	w.Header().Set("Connection", "close")
	writeFailure(w, f)
}

// connKey is the key under which the context of a request stores the request's connection.
type connKey struct{}

// refuseExpired refuses a request if its deadline has passed, or if the caller has closed the
// connection. Such a request waited in the socket while the process of serve was suspended, and its
// caller has already received an error.
func refuseExpired(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		if text := r.Header.Get(wire.DeadlineHeader); text != "" {
			end, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				writeError(w, coleo.Errorf(coleo.EInvalid,
					"the header %s: %q is not a time such as 2026-01-02T15:04:05.5Z", wire.DeadlineHeader, text))
				return
			}
			ctx, cancel := context.WithDeadline(r.Context(), end)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if timelimit.Check(r.Context()) != nil || hungUp(r.Context()) {
			writeError(w, coleo.Errorf(coleo.ETimeout,
				"the deadline of the request had passed when it arrived: nothing was done"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hungUp reports whether the other end of a request's connection is closed. It asks the kernel,
// because net/http notices a closed connection a moment later.
func hungUp(ctx context.Context) bool {
	conn, ok := ctx.Value(connKey{}).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err == nil && n == 0 || errors.Is(err, syscall.ECONNRESET)
	})
	return err != nil || closed
}

// noteConn stores a connection in the context, for hungUp.
func noteConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}
