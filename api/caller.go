package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"coleo.dev"
	"coleo.dev/localsocket"
)

type callerKey struct{}

// callerOf returns the caller of the request that ctx belongs to. For a WebSocket, ctx
// must be the socket's own context, because its caller may become known after the
// request.
func callerOf(ctx context.Context) coleo.Caller {
	c, _ := ctx.Value(callerKey{}).(coleo.Caller)
	return c
}

func withCaller(ctx context.Context, c coleo.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// errRevoked ends a request or a WebSocket when the caller's credential becomes
// invalid.
var errRevoked = errors.New("signed out, or the API token was replaced")

// pass is the permission to call the API. It lasts as long as the caller's credential
// is valid.
type pass struct {
	caller coleo.Caller
	live   context.Context
}

// serveAs serves a request for the caller of p. It cancels the request when the
// caller's credential becomes invalid.
func serveAs(p pass, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancelCause(withCaller(r.Context(), p.caller))
	defer end(nil)
	defer context.AfterFunc(p.live, func() { end(errRevoked) })()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// apiToken is the token for programs. It may be replaced at any time.
type apiToken struct {
	mu    sync.Mutex
	value string // "" means that no token is accepted
	live  context.Context
	end   context.CancelFunc
}

func newToken(value string) *apiToken {
	t := &apiToken{value: value}
	t.live, t.end = context.WithCancel(context.Background())
	return t
}

// check reports whether shown is the API token. If so, it also returns a pass.
func (t *apiToken) check(shown string) (pass, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == "" || !same(shown, t.value) {
		return pass{}, false
	}
	return pass{coleo.Caller{Kind: coleo.CallerToken, ID: fingerprint(t.value)}, t.live}, true
}

// replace makes value the API token, after keep has stored it. It ends all calls that
// were made with the old token.
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

// fingerprint returns a name for a token. The name does not reveal the token.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte("coleo API token " + token))
	return hex.EncodeToString(sum[:6])
}

// visitor is the process at the other end of a socket connection.
type visitor struct {
	caller  coleo.Caller
	refused error // why the process may not call the API; nil if it may
}

// visitorKey is the key of the visitor in the context of a connection.
type visitorKey struct{}

// connected stores in the context which process has connected over the socket. For a
// TCP connection the kernel does not reveal the process.
func (s *Server) connected(ctx context.Context, conn net.Conn) context.Context {
	ctx = noteConn(ctx, conn)
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, visitorKey{}, s.inspect(c))
}

func (s *Server) inspect(conn syscall.Conn) visitor {
	v := visitor{caller: coleo.Caller{Kind: coleo.CallerSocket}}
	v.refused = localsocket.Inspect(conn, func(p localsocket.Peer) error {
		v.caller.UID, v.caller.PID, v.caller.Program = p.UID, p.PID, programOf(p.PID)
		if s.admit == nil {
			return nil
		}
		return s.admit(p.PID)
	})
	return v
}

// programOf returns the name of a process's program. It returns "" if the system does
// not reveal the name. It leaves out the arguments, because one of them may be a
// prompt.
func programOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(raw) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(raw), "\x00")
	return filepath.Base(name)
}

// visitorOf returns the process that has sent r over the socket.
func visitorOf(r *http.Request) visitor {
	v, _ := r.Context().Value(visitorKey{}).(visitor)
	return v
}
