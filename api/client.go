package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/localsocket"
)

// ClientConfig says where the server is: at a socket, which needs no token, or
// at a URL such as http://127.0.0.1:8080.
type ClientConfig struct {
	Socket string
	URL    string // counts when Socket is empty
	Token  string

	// Peer says why the server's process cannot answer, such as that a signal has
	// stopped it; nil: it can, or that is not known. It is asked before each request
	// and while an answer is waited for. It may be nil.
	Peer func() error
}

// Client calls the API. It is safe for concurrent use. Errors of its methods
// are *coleo.Error: those of the server as they were, and EUnavailable when no
// server answers.
type Client struct {
	base  string // with scheme, without a slash at its end
	token string
	http  *http.Client
	dial  websocket.Dialer
	where string // for people
	peer  func() error
}

// NewClient makes a client. It does not call the server yet. Error: EInvalid
// for a URL that is none.
func NewClient(c ClientConfig) (*Client, error) {
	client := &Client{base: strings.TrimSuffix(c.URL, "/"), token: c.Token, where: c.URL, peer: c.Peer}
	transport := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: idleTimeout}
	client.dial = websocket.Dialer{HandshakeTimeout: headerTimeout}
	switch {
	case c.Socket != "":
		dial := func(context.Context, string, string) (net.Conn, error) {
			conn, err := localsocket.Dial(c.Socket)
			if err != nil {
				return nil, undialled{err}
			}
			return conn, nil
		}
		transport.DialContext = dial
		client.dial.NetDialContext = dial
		client.base, client.where = "http://localhost", c.Socket
	default:
		if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, coleo.Errorf(coleo.EInvalid, "%q is no URL of an API server, such as http://127.0.0.1:8080", c.URL)
		}
	}
	client.http = &http.Client{
		Transport: transport,
		// A redirect would carry the token elsewhere, and the API has none.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request and decodes the answer into out, unless that is nil. It
// waits for lookTime.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	return c.callFor(ctx, lookTime, method, path, in, out)
}

// callFor is call for requests that take another time.
func (c *Client) callFor(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, coleo.Errorf(coleo.ETimeout, "coleo at %s did not answer within %s", c.where, limit))
	defer cancel()
	ctx, done, err := c.watched(ctx)
	if err != nil {
		return err
	}
	defer done()
	resp, err := c.send(ctx, method, path, "application/json", in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	} else {
		err = json.NewDecoder(resp.Body).Decode(out)
	}
	if err != nil {
		return c.unreachable(ctx, method, fmt.Errorf("read the answer to %s %s: %w", method, path, err))
	}
	return nil
}

// send returns an answer that is no error; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path, accept string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write the body of %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s %s: %w", method, path, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", accept)
	if end, ok := ctx.Deadline(); ok && method != get {
		req.Header.Set(headerDeadline, end.UTC().Format(time.RFC3339Nano))
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, method, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, c.decodeError(resp)
	}
	return resp, nil
}

func (c *Client) decodeError(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	var f failure
	if err := json.Unmarshal(raw, &f); err == nil && f.Err != nil && f.Err.Code != "" {
		return f.Err
	}
	return coleo.Errorf(coleo.EUnavailable, "%s answered %s, not as a coleo does", c.where, resp.Status)
}

// pollFor is one long poll; a longer wait is several of them.
const pollFor = 30 * time.Second

// poll repeats a long poll until it has an answer, an error, or ctx ends.
func poll[T any](ctx context.Context, once func(timeout time.Duration) (T, error)) (T, error) {
	for {
		wait := pollFor
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, max(0, time.Until(end)))
		}
		out, err := once(wait)
		if coleo.ErrorCode(err) != coleo.ETimeout || ctx.Err() != nil || wait < pollFor {
			return out, err
		}
	}
}

func armPath(arm string, rest string) string { return "/api/arms/" + url.PathEscape(arm) + rest }
