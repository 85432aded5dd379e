package opencodeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
)

// startTimeout is how long the server can take to report its address. On a loaded machine, this
// report took 10 s.
const startTimeout = 90 * time.Second

// requestTimeout is how long a request to the server can take. It is for requests that
// do not wait for a model.
const requestTimeout = 30 * time.Second

var listeningLine = regexp.MustCompile(`server listening on (http://[0-9.]+:[0-9]+)`)

// listening reads the server's output until the server reports its address. It returns the address.
// A request before this report would hang forever, although the port already accepts connections.
func listening(ctx context.Context, c *holder.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stream, err := c.Lead(ctx, 0, 0)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	var seen bytes.Buffer
	for {
		chunk, err := stream.Next()
		if err != nil {
			return "", coleo.Errorf(coleo.ETimeout, "the server did not say where it listens; it said %q",
				lastLine(seen.String()))
		}
		if chunk.Exit != nil {
			return "", coleo.Errorf(coleo.EExited, "the server ended at its start (%s); it said %q", chunk.Exit,
				lastLine(seen.String()))
		}
		seen.Write(chunk.Data)
		if m := listeningLine.FindSubmatch(seen.Bytes()); m != nil {
			return string(m[1]), nil
		}
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// server is the API of one OpenCode server for one project folder.
type server struct {
	base, password, dir string
	http                *http.Client
}

func newServer(base, password, dir string) *server {
	// No proxy is used, because the server is on loopback.
	return &server{base: base, password: password, dir: dir, http: &http.Client{Transport: &http.Transport{}}}
}

// port returns the port on which the server listens.
func (s *server) port() int {
	_, after, _ := strings.Cut(strings.TrimPrefix(s.base, "http://"), ":")
	port, _ := strconv.Atoi(after) // listeningLine has matched the digits
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

// command sends a request that commands the server. It is like do, but it sends no request if
// nobody still waits for the result.
func (s *server) command(ctx context.Context, path string, in, out any) error {
	if err := coleo.Wanted(ctx); err != nil {
		return err
	}
	return s.do(ctx, http.MethodPost, path, in, out)
}

// do sends a request, and decodes the answer into out. If out is nil, do ignores the answer. If the
// server cannot be reached, the error is EUnavailable. If the status is 404, the error is
// ENotFound. For any other refusal, the error is EInternal.
func (s *server) do(ctx context.Context, method, path string, in, out any) error {
	return s.doWithin(ctx, requestTimeout, method, path, in, out)
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
	if err != nil {
		return coleo.Errorf(coleo.EUnavailable, "ask the server to %s %s: %w", method, path, err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return coleo.Errorf(coleo.EUnavailable, "read the server's answer to %s: %w", path, err)
	}
	if answer.StatusCode == http.StatusNotFound {
		return coleo.Errorf(coleo.ENotFound, "the server has nothing at %s: %s", path, bytes.TrimSpace(raw))
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return coleo.Errorf(coleo.EInternal, "the server refused %s %s: %s: %s", method, path, answer.Status,
			bytes.TrimSpace(raw))
	}
	if out == nil || len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("read the server's answer to %s: %w", path, err)
	}
	return nil
}

// event is one server-sent event.
type event struct {
	Type       string          `json:"type"`
	Properties json.RawMessage `json:"properties"`
}

// events passes each event to a function. It ends when the stream ends or ctx is canceled.
func (s *server) events(ctx context.Context, take func(event)) error {
	q, err := s.request(ctx, http.MethodGet, "/event", nil)
	if err != nil {
		return err
	}
	answer, err := s.http.Do(q)
	if err != nil {
		return fmt.Errorf("follow the server's events: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("follow the server's events: %s", answer.Status)
	}
	r := bufio.NewReader(answer.Body)
	for {
		line, err := r.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			var e event
			if json.Unmarshal(data, &e) == nil {
				take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow the server's events: %w", err)
		}
	}
}
