// Package modelserver answers agent CLIs in place of a model. It follows a script and
// records every request. The record is the truth for Coleo's tests: a prompt was
// delivered if it is in the record byte for byte, and not otherwise.
//
// A dialect decodes a request into a [Turn]. The script chooses a [Reply]; without a
// matching rule a built-in scenario does, which obeys the words of the prompt. The
// dialect encodes that reply as a stream or as one JSON document. Each dialect has its
// own file. The dialects are the Anthropic Messages API, version 2023-06-01, the OpenAI
// Chat Completions and Responses APIs, and the Gemini API.
//
// The server listens only on loopback addresses and path sockets. It neither checks nor
// keeps credentials. The record shows only that some were sent.
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
	Addr    string // TCP, "127.0.0.1:0" if empty; must be a loopback address
	Control string // path of a unix socket, mode 0600, that serves the same requests; none if empty
	Log     string // file that gets a JSON line per change of the record; none if empty
	Script  Script // may be empty: then the built-in scenario answers
	Keep    int    // least number of requests in the record, which keeps up to twice as many; 0: all
}

// Server is a running model server.
type Server struct {
	url     string
	rec     *record
	chooser chooser
	log     *os.File // may be nil
	https   []*http.Server
	ctx     context.Context // cancelled by Close
	cancel  context.CancelFunc
	serving sync.WaitGroup // the accept loops and the requests

	mu      sync.Mutex
	closed  bool
	release chan struct{} // closed and replaced by Release
}

// Start listens and returns. Requests are served in the background until Close. The error
// is about the script, the address, the control socket or the record.
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

// listen opens the TCP listener and then that of the control socket.
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
			_ = l.Close() // nothing was accepted
		}
	}
}

// loopback refuses every address but loopback ones.
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

// headerTimeout bounds how long a client may take for its request's header.
const headerTimeout = 10 * time.Second

func (s *Server) serve(l net.Listener) {
	h := &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: headerTimeout}
	s.https = append(s.https, h)
	s.serving.Go(func() { _ = h.Serve(l) }) // ends with http.ErrServerClosed
}

// URL returns the address of the server: "http://127.0.0.1:PORT". For the chat dialect
// the base is URL + "/v1".
func (s *Server) URL() string { return s.url }

// Record returns a copy of the requests so far, in order of arrival.
func (s *Server) Record() []Request { return s.rec.from(1) }

// Wait returns the first request, past or future, that matches. It calls matches
// again whenever a request arrives, stalls, continues or is done. The error is that of
// ctx, or says that the server was closed.
func (s *Server) Wait(ctx context.Context, matches func(Request) bool) (Request, error) {
	return s.rec.wait(ctx, s.ctx.Done(), matches)
}

// SetScript replaces the script. Replies that have begun do not change. The error says
// what is wrong with the script.
func (s *Server) SetScript(script Script) error {
	if err := script.check(); err != nil {
		return fmt.Errorf("script: %w", err)
	}
	s.chooser.set(script)
	return nil
}

// Release continues every stalled reply, and returns their number.
func (s *Server) Release() int {
	n := s.rec.count(func(q Request) bool { return q.Stalled })
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
	return n
}

func (s *Server) released() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.release
}

// enter counts a request, and reports whether the server is still open.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.serving.Add(1)
	}
	return !s.closed
}

// Close closes all connections and waits for their handlers. It returns the first error
// in writing the record.
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
