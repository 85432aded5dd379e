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
	"coleo.dev/api/token"
	"coleo.dev/localsocket"
)

// This file finds out who sends a request: which process, and with which token or sign-in.

type callerKey struct{}

// callerOf returns the caller of a request from the context of the request. For a
// WebSocket, use the context of the socket, because the caller of a WebSocket sometimes
// becomes known only after the request.
func callerOf(ctx context.Context) coleo.Caller {
	c, _ := ctx.Value(callerKey{}).(coleo.Caller)
	return c
}

func withCaller(ctx context.Context, c coleo.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// errRevoked is the reason why a request or a WebSocket ends when the caller's token or
// sign-in becomes invalid.
var errRevoked = errors.New("signed out, or the token was replaced, was revoked, " +
	"has expired, or no longer reaches an arm")

// A pass is the permission to call the API. Its context `live` ends when the caller's token or
// sign-in becomes invalid.
type pass struct {
	caller   coleo.Caller
	live     context.Context
	operator *operator // the operator token of the caller; nil if it has none
}

// operator is a caller with an operator token.
type operator struct {
	token coleo.OperatorToken
	place place
}

// place is the arm in which a caller runs, if the kernel reveals the arm.
type place struct {
	seen bool   // whether the kernel reveals the arm; for a connection over TCP, it does not
	arm  string // the id of the arm in which the caller runs; "" outside of arms
}

type operatorKey struct{}

// operatorOf returns the caller of a request, if the caller has an operator token. It
// returns nil for all other callers.
func operatorOf(ctx context.Context) *operator {
	o, _ := ctx.Value(operatorKey{}).(*operator)
	return o
}

// operatorPass returns a pass for the value of an operator token. `who` is the process that calls. If the
// caller runs in an arm and the token was not made for this arm, operatorPass returns EForbidden.
func (s *Server) operatorPass(ctx context.Context, value string, who visitor) (*pass, error) {
	found, live, err := s.tokens.Check(ctx, value)
	if err != nil {
		return nil, err
	}
	if arm := who.place.arm; arm != "" && arm != found.RunsIn {
		return nil, coleo.Errorf(coleo.EForbidden,
			"process %d belongs to arm %s, and the operator token %q was not made for "+
				"that arm (`coleo token create --runs-in`); nothing was done", who.caller.PID, arm, found.Name)
	}
	who.caller.Kind, who.caller.ID = coleo.CallerOperator, found.Name
	return &pass{who.caller, live, &operator{found, who.place}}, nil
}

// limitByToken refuses a request if the caller's operator token does not allow the route. It also
// refuses the request if the token does not reach the arm in the path.
func (s *Server) limitByToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := operatorOf(r.Context()); o != nil {
			_, route := s.routes.Handler(r)
			err := token.Check(o.token, route)
			if reach, _ := token.ReachOf(route); err == nil && reach == token.OneArm {
				r, err = s.withArm(o, route, r)
			}
			if err != nil {
				s.log.Warn("a token was refused", "token", o.token.Name, "route", route, "error", err)
				writeError(w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serveAs serves a request of a caller with a pass. If the pass becomes invalid, serveAs cancels
// the request.
func serveAs(p pass, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := withCaller(r.Context(), p.caller)
	if p.operator != nil {
		ctx = context.WithValue(ctx, operatorKey{}, p.operator)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(p.live, func() { end(errRevoked) })()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// apiToken is the token for programs. It can be replaced while the server runs.
type apiToken struct {
	mu    sync.Mutex
	value string // the token's value; "" means that no token is accepted
	live  context.Context
	end   context.CancelFunc
}

func newToken(value string) *apiToken {
	t := &apiToken{value: value}
	t.live, t.end = context.WithCancel(context.Background())
	return t
}

// check reports whether a text is the API token. If it is, check also returns a pass.
func (t *apiToken) check(shown string) (pass, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == "" || !sameText(shown, t.value) {
		return pass{}, false
	}
	return pass{coleo.Caller{Kind: coleo.CallerToken, ID: fingerprint(t.value)}, t.live, nil}, true
}

// replace saves a new value with the given function. If this succeeds, the value becomes the API token, and
// replace ends all calls that were made with the old token.
func (t *apiToken) replace(value string, store func(string) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := store(value); err != nil {
		return coleo.Errorf(coleo.EInternal, "the API token was not replaced: %w", err)
	}
	t.end()
	t.value = value
	t.live, t.end = context.WithCancel(context.Background())
	return nil
}

// fingerprint returns a short name for a token. Nobody can find out the token from this name.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte("coleo API token " + token))
	return hex.EncodeToString(sum[:6])
}

// visitor is the process at the other end of a socket connection.
type visitor struct {
	caller  coleo.Caller
	refusal error // why the process is not allowed to call the API; nil if it is allowed
	place   place
}

// visitorKey is the key under which the context of a connection stores the visitor.
type visitorKey struct{}

// withVisitor finds the process at the other end of a socket connection, and stores the process in
// the connection's context. For a TCP connection it stores nothing, because the kernel does not
// reveal the process.
func (s *Server) withVisitor(ctx context.Context, conn net.Conn) context.Context {
	ctx = noteConn(ctx, conn)
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, visitorKey{}, s.visitorAt(c))
}

func (s *Server) visitorAt(conn syscall.Conn) visitor {
	v := visitor{caller: coleo.Caller{Kind: coleo.CallerSocket}}
	v.refusal = localsocket.Inspect(conn, func(p localsocket.Peer) error {
		v.caller.UID, v.caller.PID, v.caller.Program = p.UID, p.PID, programOf(p.PID)
		if s.armOf != nil {
			arm, err := s.armOf(p.PID)
			v.place = place{err == nil, arm}
		}
		if s.admit == nil {
			return nil
		}
		return s.admit(p.PID)
	})
	return v
}

// programOf returns the name of a process's program, or "" if the system does not
// reveal it. It does not return the arguments, because an argument can be a prompt.
func programOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(raw) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(string(raw), "\x00")
	return filepath.Base(name)
}

// visitorOf returns the process that has sent a request over the socket.
func visitorOf(r *http.Request) visitor {
	v, _ := r.Context().Value(visitorKey{}).(visitor)
	return v
}
