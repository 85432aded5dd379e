package opencodeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/printable"
	"coleo.dev/timelimit"
)

// startTimeout is how long the server may take to report its address. On a loaded machine, OpenCode
// 1.18.33 took 10 s.
const startTimeout = 90 * time.Second

// bounds contains how long Coleo waits for a server in different situations, and how much it reads.
type bounds struct {
	// how long Coleo waits for the answer to a request that needs no model
	request time.Duration
	// how long Coleo waits for the next event before it asks for a new stream; this loses no event
	silence time.Duration
	// how long Coleo may be unable to follow the server before the arm reports the problem
	trouble time.Duration

	answer, event int // the largest sizes of an answer and of an event, in bytes
}

// usualBounds are the bounds of all servers outside of tests. OpenCode 1.18.33 sends an event, the
// heartbeat, every 10 s. A whole conversation is one answer.
var usualBounds = bounds{request: 30 * time.Second, silence: 45 * time.Second, trouble: 5 * time.Second,
	answer: 128 << 20, event: 16 << 20}

// awaitAddress reads the server's output until the server reports its address, and returns the
// address. No request may be sent earlier: it would hang forever, although the port already accepts
// connections.
func awaitAddress(ctx context.Context, c *holder.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stream, err := c.Lead(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var seen output
	for {
		chunk, err := stream.Next()
		if err != nil {
			return "", coleo.Errorf(coleo.ETimeout, "the server did not say where it listens; it said %q", seen.lastLine())
		}
		if chunk.Exit != nil {
			return "", coleo.Errorf(coleo.EExited, "the server ended at its start (%s); it said %q", chunk.Exit,
				seen.lastLine())
		}
		if found := seen.add(chunk.Data); found != "" {
			return found, nil
		}
	}
}

// server is the API of one OpenCode server for one project folder.
type server struct {
	base, password, dir string
	bounds              bounds
	http                *http.Client
}

func newServer(base, password, dir string) *server {
	// No proxy, because the server is on loopback. Coleo follows no redirect, because it would send the prompt to
	// another server.
	return &server{base: base, password: password, dir: dir, bounds: usualBounds,
		http: &http.Client{Transport: &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// port returns the port on which the server listens.
func (s *server) port() int {
	_, after, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), ":")
	port, _ := strconv.Atoi(after) // listeningLine has matched digits
	return port
}

func (s *server) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	q, err := http.NewRequestWithContext(ctx, method, s.base+path+"?"+url.Values{"directory": {s.dir}}.Encode(), body)
	if err != nil {
		return nil, err
	}
	q.SetBasicAuth("opencode", s.password)
	if in != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	return q, nil
}

// command sends a request that makes the server do something. It is like do, but sends nothing if
// the caller no longer waits for the result.
func (s *server) command(ctx context.Context, path string, in, out any) error {
	if err := timelimit.Check(ctx); err != nil {
		return err
	}
	return s.do(ctx, http.MethodPost, path, in, out)
}

// do sends a request. It decodes the answer into `out`, or ignores the answer if `out` is nil. It returns
// one of these errors:
//
//   - EUnavailable if Coleo cannot reach the server
//   - ENotFound for the status 404
//   - EUnauthorized if the server refuses the password
//   - EInternal for any other refusal, for a redirect, and for an answer that is too long or no JSON
func (s *server) do(ctx context.Context, method, path string, in, out any) error {
	return s.doWithin(ctx, s.bounds.request, method, path, in, out)
}

// doWithin is like do, but with the given time limit for the whole request.
func (s *server) doWithin(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q, err := s.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(q)
	var raw []byte
	if err == nil {
		defer answer.Body.Close()
		raw, err = io.ReadAll(io.LimitReader(answer.Body, int64(s.bounds.answer)+1))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return coleo.Errorf(coleo.EUnavailable, "the server at %s has not answered %s %s within %v", s.base, method, path,
			limit)
	case err != nil:
		return coleo.Errorf(coleo.EUnavailable, "ask the server to %s %s: %w", method, path, err)
	case len(raw) > s.bounds.answer:
		return coleo.Errorf(coleo.EInternal, "the server's answer to %s %s has more than %d bytes", method, path,
			s.bounds.answer)
	case answer.StatusCode == http.StatusUnauthorized:
		return s.passwordError()
	case answer.StatusCode == http.StatusNotFound:
		return coleo.Errorf(coleo.ENotFound, "the server has nothing at %s: %s", path, firstLine(raw))
	case answer.StatusCode >= http.StatusMultipleChoices:
		return coleo.Errorf(coleo.EInternal, "the server refused %s %s: %s: %s", method, path, answer.Status, firstLine(raw))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return coleo.Errorf(coleo.EInternal, "the server's answer to %s %s cannot be read: %w", method, path, err)
	}
	return nil
}

// mayHaveArrived reports whether the server may have received a request although the request failed with err.
func mayHaveArrived(err error) bool {
	var network *net.OpError
	unconnected := errors.As(err, &network) && network.Op == "dial"
	return coleo.ErrorCode(err) == coleo.EUnavailable && !unconnected
}

// passwordError returns the error for a server that refuses the password.
func (s *server) passwordError() error {
	return coleo.Errorf(coleo.EUnauthorized, "the server at %s refuses the password that Coleo gave to it: another "+
		"program may have its port, or a wrapper may change %s", s.base, passwordEnv)
}

// longestLine is the largest number of bytes of an answer that an error repeats: about two lines of
// a terminal.
const longestLine = 200

// firstLine returns the beginning of an answer's first line, in printable characters.
func firstLine(answer []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(answer), []byte("\n"))
	return printable.Line(string(line[:min(len(line), longestLine)]))
}

// event is one server-sent event.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

var errSilent = errors.New("it was silent")

// events follows the server's events, and calls the function `take` for each of them. It skips an event
// that is incomplete or no JSON. It ends when the stream ends or is silent for too long, or when an
// event is too long. It also ends when `take` returns an error, or when ctx ends. It always returns an error.
func (s *server) events(ctx context.Context, take func(event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(s.bounds.silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	told := func(err error) error {
		if errors.Is(context.Cause(ctx), errSilent) {
			return coleo.Errorf(coleo.EUnavailable, "the server at %s has sent no event for %v", s.base, s.bounds.silence)
		}
		return coleo.Errorf(coleo.EUnavailable, "follow the events of the server at %s: %w", s.base, err)
	}
	q, err := s.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(q)
	if err != nil {
		return told(err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return s.passwordError()
	default:
		return told(errors.New(answer.Status))
	}
	for r := bufio.NewReader(answer.Body); ; {
		line, err := readEvent(r, s.bounds.event)
		if err != nil {
			return told(err)
		}
		quiet.Stop() // while `take` runs, the server must not count as silent
		var e event
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && json.Unmarshal(data, &e) == nil {
			if err := take(e); err != nil {
				return err
			}
		}
		quiet.Reset(s.bounds.silence)
	}
}
