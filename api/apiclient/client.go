// Package apiclient calls the API of `coleo serve`, over its socket or over HTTP. Its Client has a
// method for each route.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"coleo.dev/timelimit"
	"coleo.dev/wire"
)

const (
	idleTimeout      = 2 * time.Minute  // how long an unused connection stays open
	handshakeTimeout = 10 * time.Second // how long opening a WebSocket may take
	maxError         = 1 << 20          // the largest body of an error that is read, in bytes
)

const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)

// Config says how to reach the server. Socket is the path of the server's socket. Requests
// over the socket need no token. URL is an address such as http://127.0.0.1:8080.
type Config struct {
	Socket string
	URL    string // the address of the server; used only if Socket is empty
	Token  string

	// Peer checks whether the server's process can answer. If not, Peer returns an error with the reason, for
	// example that a signal has stopped the process. If Peer cannot find out, it returns nil. The client
	// calls Peer before each request and while it waits for an answer. The field Peer may be nil.
	Peer func() error
}

// Client calls the API. Several goroutines can use it at the same time.
//
// The methods of Client return the server's *coleo.Error unchanged. They return EUnavailable if no
// server answers. Each method has a time limit, and returns ETimeout when this time has passed. If
// the caller cancels ctx, a method returns ctx's error.
type Client struct {
	base  string // the server's address with its scheme, without a slash at the end
	token string
	http  *http.Client
	dial  websocket.Dialer
	where string // the server's address, as messages for users name it
	peer  func() error
}

// New returns a client. It does not connect to the server yet. It returns
// EInvalid for a bad URL.
func New(c Config) (*Client, error) {
	client := &Client{base: strings.TrimSuffix(c.URL, "/"), token: c.Token, where: c.URL, peer: c.Peer}
	transport := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: idleTimeout}
	client.dial = websocket.Dialer{HandshakeTimeout: handshakeTimeout}
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
		// The client follows no redirect, because a redirect could send the token to another
		// server. The API itself has no redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client, nil
}

// Close closes the idle connections of the client.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// call sends a request. If `out` is not nil, call decodes the answer into `out`. It waits for the answer for
// at most lookTime.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	return c.callFor(ctx, lookTime, method, path, in, out)
}

// callFor does the same as call, but with the given time limit.
func (c *Client) callFor(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		coleo.Errorf(coleo.ETimeout, "coleo at %s did not answer within %s", c.where, limit.Round(time.Millisecond)))
	defer cancel()
	ctx, done, err := c.watchServer(ctx)
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
		return c.unreachableError(ctx, method, fmt.Errorf("read the answer to %s %s: %w", method, path, err))
	}
	return nil
}

// send sends a request and returns the answer. The caller must close the body of the answer. If the
// answer has the status of an error, send returns this error instead.
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
		req.Header.Set(wire.DeadlineHeader, end.UTC().Format(time.RFC3339Nano))
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachableError(ctx, method, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		return nil, c.decodeError(resp)
	}
	return resp, nil
}

func (c *Client) decodeError(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	var body struct {
		Error *coleo.Error `json:"error"`
	}
	if err := json.Unmarshal(raw, &body); err == nil && body.Error != nil && body.Error.Code != "" {
		return body.Error
	}
	return coleo.Errorf(coleo.EUnavailable, "%s answered %s, which is not an answer of Coleo's API", c.where,
		resp.Status)
}

// pollFor is the length of one long poll. For a longer wait, the client sends several
// polls one after another.
const pollFor = 30 * time.Second

// poll calls `ask` until `ask` returns an answer, or an error other than ETimeout. poll also stops when ctx
// ends.
func poll[T any](ctx context.Context, ask func(timeout time.Duration) (T, error)) (T, error) {
	for {
		wait := pollFor
		if end, ok := ctx.Deadline(); ok {
			wait = min(wait, max(0, time.Until(end)))
		}
		out, err := ask(wait)
		if coleo.ErrorCode(err) != coleo.ETimeout || ctx.Err() != nil || wait < pollFor {
			return out, err
		}
	}
}

func armPath(arm string, rest string) string { return "/api/arms/" + url.PathEscape(arm) + rest }

// These constants are the times for which a client waits for an answer, one for each kind of request. Serve stops
// waiting earlier than the client, by answerMargin, so that the client still receives serve's own error.
const (
	answerMargin = 10 * time.Second
	lookTime     = 30*time.Second + answerMargin // serve gives a host agent 30 s to reply to such a request
	// for answering a dialog, interrupting or compacting; promptTime is the limit for a prompt
	steerTime  = timelimit.Typing + answerMargin
	killTime   = timelimit.Kill + answerMargin
	removeTime = timelimit.Remove + answerMargin
	// for merging the work of an arm; afterwards, Coleo may send the arm a prompt with the
	// conflicts, which takes up to 3 minutes
	mergeTime = timelimit.Merge + 3*time.Minute + answerMargin
	// for a hand-over: serve interrupts, reads the conversation and the diff, and starts the
	// successor
	handoverTime = 5*time.Minute + answerMargin
	// for starting or recovering an arm: serve ends the old process and reads the model catalogue
	startTime = 150*time.Second + answerMargin
)

const (
	// peerEvery is the time between two checks of whether the server's process can answer.
	peerEvery = time.Second
	// peerTwice is the pause before a second check. The client refuses to send a request only if
	// both checks fail, because some processes are stopped only for a moment.
	peerTwice = 500 * time.Millisecond
)

// unsent is the error for a request that no server received.
type unsent struct{ because *coleo.Error }

// Error returns a message that says that no server received the request.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unsent) Unwrap() error { return u.because }

// undialled is the error for a socket that could not be reached.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// IsUnsent reports whether err means that no server received the request.
func IsUnsent(err error) bool { return errors.As(err, new(unsent)) }

// watchServer returns a context for one request. The context ends when the server's process can no
// longer answer. If the process cannot answer when watchServer is called, watchServer returns an error.
func (c *Client) watchServer(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := func() { cancel(nil) }
	if c.peer == nil {
		return ctx, done, nil
	}
	if c.peer() != nil && waitFor(ctx, peerTwice) {
		if err := c.peer(); err != nil {
			done()
			return nil, nil, unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: %w", err)}
		}
	}
	go func() {
		for last := error(nil); waitFor(ctx, peerEvery); {
			err := c.peer()
			if err != nil && last != nil {
				cancel(coleo.Errorf(coleo.EUnavailable, "%w", err))
			}
			last = err
		}
	}()
	return ctx, done, nil
}

// waitFor waits for the given duration and returns true. If ctx ends first, waitFor returns false.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unreachableError returns the error for a request that received no answer. If the request could have
// changed something, the message says that the outcome is unknown.
func (c *Client) unreachableError(ctx context.Context, method string, err error) error {
	unknown := ""
	if method != get {
		unknown = ": whether it was done is not known"
	}
	var cause *coleo.Error
	var op *net.OpError
	switch {
	case errors.As(err, new(unsent)):
		return err
	case errors.As(context.Cause(ctx), &cause):
		return coleo.Errorf(cause.Code, "%s%s", cause.Message, unknown)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return coleo.Errorf(coleo.ETimeout, "%s did not answer in time%s", c.where, unknown)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(undialled)), errors.As(err, &op) && op.Op == "dial":
		return unsent{coleo.Errorf(coleo.EUnavailable,
			"no coleo answers at %s (%w); start it with `coleo serve` or `coleo up`", c.where, err)}
	}
	return coleo.Errorf(coleo.EUnavailable, "the connection to coleo at %s ended before the answer came (%w)%s",
		c.where, err, unknown)
}

// promptTime returns how long a client waits for the proof that a prompt was delivered.
func promptTime(text string) time.Duration { return timelimit.Prompt(text) + answerMargin }

// notDelivered sets Delivered to false in the error of a prompt that no server
// received, or that serve refused before it asked a host agent. It returns any other error unchanged.
func notDelivered(err error) error {
	var u unsent
	if errors.As(err, &u) {
		marked := *u.because
		marked.Delivered = new(bool)
		return unsent{&marked}
	}
	var e *coleo.Error
	if !errors.As(err, &e) || e.Delivered != nil {
		return err
	}
	switch e.Code {
	case coleo.EInvalid, coleo.EUnauthorized, coleo.EForbidden, coleo.ENotFound, coleo.EUnsupported:
		marked := *e
		marked.Delivered = new(bool)
		return &marked
	default: // a prompt with another error may have been delivered
		return err
	}
}

// spawnTime returns how long a client waits for the start of an arm.
func spawnTime(r wire.SpawnRequest) time.Duration {
	if r.Worktree != nil {
		return startTime + timelimit.Worktree
	}
	return startTime
}

// The following methods work only over the server's socket. Over TCP, they return EForbidden.

// NewLink creates a link that signs one browser in.
func (c *Client) NewLink(ctx context.Context) (wire.Link, error) {
	var out wire.Link
	err := c.call(ctx, post, "/api/browsers/links", nil, &out)
	return out, err
}

// Browsers returns the browsers that are signed in.
func (c *Client) Browsers(ctx context.Context) ([]wire.Browser, error) {
	var out wire.BrowsersReply
	err := c.call(ctx, get, "/api/browsers", nil, &out)
	return out.Browsers, err
}

// SignOut signs one browser out. It returns ENotFound if no such browser is signed in.
func (c *Client) SignOut(ctx context.Context, id string) error {
	return c.call(ctx, del, "/api/browsers/"+url.PathEscape(id), nil, nil)
}

// SignOutAll signs all browsers out, and returns their number.
func (c *Client) SignOutAll(ctx context.Context) (int, error) {
	var out wire.SignedOut
	err := c.call(ctx, del, "/api/browsers", nil, &out)
	return out.SignedOut, err
}

// ReplaceToken makes the server create a new API token, and returns the token's fingerprint. Logs
// name the token by this fingerprint. The old token becomes invalid immediately.
func (c *Client) ReplaceToken(ctx context.Context) (string, error) {
	var out wire.TokenReply
	err := c.call(ctx, post, "/api/token", nil, &out)
	return out.Fingerprint, err
}
