package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"sync"

	"coleo.dev"
)

// How a caller has shown that it may call.
const (
	callerCookie = "cookie" // a browser that is signed in
	callerToken  = "token"  // a program with the API token
	callerSocket = "socket" // the user's own processes, through the Unix socket
)

// Caller is who sent a request. The zero Caller has shown nothing.
type Caller struct {
	Kind string // callerCookie, callerToken or callerSocket; "": unproven
	ID   string // the browser's id, or the fingerprint of the token; never a secret
	UID  int    // of the process at the other end of the socket; 0 over TCP, as is PID
	PID  int    // 0 where the kernel does not say
}

type callerKey struct{}

// callerOf returns who sent the request that ctx belongs to. For a WebSocket it
// is asked of the socket's own context: its caller may become known after the
// request.
func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

func withCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// errRevoked is why requests and WebSockets end whose credential does.
var errRevoked = errors.New("signed out, or the API token was replaced")

// pass is the leave to call, for as long as the credential is good.
type pass struct {
	caller Caller
	live   context.Context
}

// serveAs serves a request for the caller of p, and breaks it off when the
// credential ends.
func serveAs(p pass, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancelCause(withCaller(r.Context(), p.caller))
	defer end(nil)
	defer context.AfterFunc(p.live, func() { end(errRevoked) })()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// apiToken is the token for programs, which may be replaced at any time.
type apiToken struct {
	mu    sync.Mutex
	value string // "": nobody gets in by a token
	live  context.Context
	end   context.CancelFunc
}

func newToken(value string) *apiToken {
	t := &apiToken{value: value}
	t.live, t.end = context.WithCancel(context.Background())
	return t
}

// check tells whether a token is the right one.
func (t *apiToken) check(shown string) (pass, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == "" || !same(shown, t.value) {
		return pass{}, false
	}
	return pass{Caller{Kind: callerToken, ID: fingerprint(t.value)}, t.live}, true
}

// replace makes another token the right one, once it has been kept. What calls
// with the former one ends.
func (t *apiToken) replace(value string, keep func(string) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := keep(value); err != nil {
		return coleo.Errorf(coleo.EInternal, "the API token was not replaced: %w", err)
	}
	t.end()
	t.value = value
	t.live, t.end = context.WithCancel(context.Background())
	return nil
}

// fingerprint names a token without giving it away.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte("coleo API token " + token))
	return hex.EncodeToString(sum[:6])
}
