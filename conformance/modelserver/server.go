// Package modelserver answers agent CLIs in place of a model. It follows a script and records each
// request. Coleo's tests rely on the record: a prompt was delivered if and only if the record
// contains it byte for byte.
//
// A dialect decodes a request into a [Turn]. The first matching rule of the script chooses the
// [Reply]. If no rule matches, a built-in scenario chooses the reply by the words of the prompt.
// The dialect encodes the reply as a stream or as one JSON document.
//
// There are four dialects: the Anthropic Messages API (version 2023-06-01), the OpenAI Chat
// Completions API, the OpenAI Responses API, and the Gemini API. Each dialect is in a file of its
// own.
//
// The server listens only on loopback addresses and on unix sockets. It neither checks nor stores
// credentials. The record contains only the kind of credential that was sent.
package modelserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Config is the configuration of a Server.
type Config struct {
	Addr    string // TCP address on loopback; "" means "127.0.0.1:0"
	Control string // path of a unix socket for the same requests, with mode 0600; "" for none
	Log     string // path of a file for a line of JSON at each change of the record; "" for none
	Script  Script // chooses the replies; if it is empty, the built-in scenario does
	Keep    int    // the record keeps at least the last Keep requests, and at most 2*Keep; 0 keeps all
}

// Server is a running model server.
type Server struct {
	url     string
	rec     *record
	chooser chooser
	log     *os.File // may be nil
	https   []*http.Server
	ctx     context.Context // canceled by Close
	cancel  context.CancelFunc
	serving sync.WaitGroup // counts the listeners and the requests in progress

	mu      sync.Mutex
	closed  bool
	release chan struct{} // closed and replaced by Release
}

// Start starts a server. The server serves requests in the background until Close is called. Start
// returns an error if it cannot use the script, the address, the control socket or the log file.
func Start(c Config) (*Server, error) {
	if err := c.Script.check(); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	listeners, err := c.listen()
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + listeners[0].Addr().String(), release: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var log io.Writer
	if c.Log != "" {
		s.log, err = os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			s.cancel()
			closeAll(listeners)
			return nil, fmt.Errorf("open record: %w", err)
		}
		log = s.log
	}
	s.rec = newRecord(log)
	s.rec.minKept = c.Keep
	s.chooser.set(c.Script)
	for _, l := range listeners {
		s.serve(l)
	}
	return s, nil
}

// listen opens a TCP listener and, if c.Control is set, a listener for the control socket.
func (c Config) listen() ([]net.Listener, error) {
	addr := c.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if err := loopback(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for agent CLIs: %w", err)
	}
	if c.Control == "" {
		return []net.Listener{l}, nil
	}
	u, err := net.Listen("unix", c.Control)
	if err == nil {
		err = os.Chmod(c.Control, 0o600)
	}
	if err != nil {
		closeAll([]net.Listener{l, u})
		return nil, fmt.Errorf("listen for control: %w", err)
	}
	return []net.Listener{l, u}, nil
}

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		if l != nil {
			_ = l.Close() // an error is harmless, because no connection was accepted yet
		}
	}
}

// loopback returns an error if addr is not a loopback address.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address of the model server: %w", err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("address of the model server: %q is not a loopback address", host)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// headerTimeout is how long the server waits for the complete header of a request.
const headerTimeout = 10 * time.Second

func (s *Server) serve(l net.Listener) {
	h := &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: headerTimeout}
	s.https = append(s.https, h)
	s.serving.Go(func() { _ = h.Serve(l) }) // ends with http.ErrServerClosed
}

// URL returns the address of the server, "http://127.0.0.1:PORT". A client of the chat dialect uses
// the base address URL + "/v1".
func (s *Server) URL() string { return s.url }

// Record returns a copy of the recorded requests, in order of arrival.
func (s *Server) Record() []Request { return s.rec.from(1) }

// Wait returns the first request for which `matches` returns true. If there is none yet, Wait calls `matches`
// again after each change of the record. It returns an error if ctx ends or the server is closed.
func (s *Server) Wait(ctx context.Context, matches func(Request) bool) (Request, error) {
	return s.rec.wait(ctx, s.ctx.Done(), matches)
}

// SetScript replaces the script. It does not change a reply that has already begun. The error
// describes what is wrong with the script.
func (s *Server) SetScript(script Script) error {
	if err := script.check(); err != nil {
		return fmt.Errorf("script: %w", err)
	}
	s.chooser.set(script)
	return nil
}

// Release continues all stalled replies and returns their number.
func (s *Server) Release() int {
	n := s.rec.count(func(q Request) bool { return q.Stalled })
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
	return n
}

func (s *Server) releaseSignal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release
}

// enter registers one more request, so that Close waits for the end of this request. If
// the server is closed, enter returns false and registers nothing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.serving.Add(1)
	}
	return !s.closed
}

// Close closes all connections and waits until all requests have ended. It returns the errors of
// closing, and the first error in writing the log.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	var errs []error
	for _, h := range s.https {
		errs = append(errs, h.Close())
	}
	s.serving.Wait()
	if s.log != nil {
		s.rec.mu.Lock()
		errs = append(errs, s.rec.logErr)
		s.rec.mu.Unlock()
		errs = append(errs, s.log.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close model server: %w", err)
	}
	return nil
}
