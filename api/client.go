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

// ClientConfig is the address of the server. It is a socket, which needs no token, or a
// URL such as http://127.0.0.1:8080.
type ClientConfig struct {
	Socket string
	URL    string // used if Socket is empty
	Token  string

	// Peer returns why the server's process cannot answer, for example because a signal
	// has stopped it. It returns nil if the process can answer or if that is unknown. The
	// client calls Peer before each request and while it waits for an answer. Peer may be
	// nil.
	Peer func() error
}

// Client calls the API. It is safe for concurrent use.
//
// Its methods return the server's *coleo.Error unchanged, and EUnavailable when no server
// answers. Each method has its own time limit and returns ETimeout after that. When the
// caller cancels ctx, a method returns ctx's error.
type Client struct {
	base  string // with scheme, without a final slash
	token string
	http  *http.Client
	dial  websocket.Dialer
	where string // shown to users
	peer  func() error
}

// NewClient returns a client. It does not call the server yet. It returns EInvalid for a
// bad URL.
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
			return nil, coleo.Errorf(coleo.EInvalid,
				"%q is not the URL of an API server, such as http://127.0.0.1:8080", c.URL)
		}
	}
	client.http = &http.Client{
		Transport: transport,
		// A redirect would send the token to another server, and the API has no
		// redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request and decodes the answer into out unless out is nil. It waits for up
// to lookTime.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	return c.callFor(ctx, lookTime, method, path, in, out)
}

// callFor is call with another time limit.
func (c *Client) callFor(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		coleo.Errorf(coleo.ETimeout, "coleo at %s did not answer within %s", c.where, limit))
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

// send returns a successful answer. The caller closes its body.
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
	return coleo.Errorf(coleo.EUnavailable, "%s answered %s, which is not an answer of Coleo's API", c.where,
		resp.Status)
}

// pollFor is the length of one long poll. A longer wait takes several polls.
const pollFor = 30 * time.Second

// poll repeats a long poll until it returns an answer or an error, or until ctx ends.
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
