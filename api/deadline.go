package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"coleo.dev"
)

// headerDeadline is the header with the time until which the caller waits for an order.
// The format is RFC 3339 with fractions of a second.
const headerDeadline = "Coleo-Deadline"

// connKey is the key under which the context of a request stores the request's
// connection.
type connKey struct{}

// awaited refuses an order if the order's deadline has passed or if the caller has
// closed the connection. Such an order has waited in the socket while serve was
// stopped, and its caller has already got an error.
func awaited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		if text := r.Header.Get(headerDeadline); text != "" {
			end, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				writeError(w, coleo.Errorf(coleo.EInvalid,
					"the header %s: %q is not a time such as 2026-01-02T15:04:05.5Z", headerDeadline, text))
				return
			}
			ctx, cancel := context.WithDeadline(r.Context(), end)
			defer cancel()
			r = r.WithContext(ctx)
		}
		if coleo.Wanted(r.Context()) != nil || hungUp(r.Context()) {
			writeError(w, coleo.Errorf(coleo.ETimeout,
				"the deadline of the request had passed when it arrived: nothing was done"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hungUp reports whether the other end of a request's connection is closed. It asks the
// kernel, because net/http needs a moment longer to notice a closed connection.
func hungUp(ctx context.Context) bool {
	conn, ok := ctx.Value(connKey{}).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err == nil && n == 0 || errors.Is(err, syscall.ECONNRESET)
	})
	return err != nil || closed
}

// noteConn stores a connection in the context, for hungUp.
func noteConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}
