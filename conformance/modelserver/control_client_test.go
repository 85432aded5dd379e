package modelserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// controlClient controls a Server in another process or network namespace, through the server's
// control socket. That works because a unix socket with a path can be reached from any network
// namespace.
type controlClient struct{ http *http.Client }

// newControlClient returns a client of the control socket with the given path. The server may start later,
// because the client makes a new connection for each call.
func newControlClient(path string) *controlClient {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &controlClient{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Record returns the requests with the number `from` and higher. The first request has the number 1. If there
// are none yet, Record waits for one, at most for the time `wait`. The server itself waits at most a minute.
// Record returns an error if the server cannot be reached or ctx is cancelled.
func (c *controlClient) Record(ctx context.Context, from int, wait time.Duration) ([]Request, error) {
	q := url.Values{"from": {strconv.Itoa(from)}}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	var answer struct{ Requests []Request }
	err := c.do(ctx, http.MethodGet, "/coleo/record?"+q.Encode(), nil, &answer)
	return answer.Requests, err
}

// SetScript replaces the script of the server. It returns an error if the server refuses the script
// or cannot be reached.
func (c *controlClient) SetScript(ctx context.Context, s Script) error {
	return c.do(ctx, http.MethodPost, "/coleo/script", s, nil)
}

// Release continues all stalled replies and returns their number. It returns an error if the server
// cannot be reached.
func (c *controlClient) Release(ctx context.Context) (int, error) {
	var answer struct{ Released int }
	err := c.do(ctx, http.MethodPost, "/coleo/release", nil, &answer)
	return answer.Released, err
}

func (c *controlClient) do(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	q, err := http.NewRequestWithContext(ctx, method, "http://modelserver"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return fmt.Errorf("ask model server: %w", err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read answer of model server: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("model server: %s: %s", answer.Status, bytes.TrimSpace(data))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decode answer of model server: %w", err)
	}
	return nil
}
