package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/wire"
)

// pieceBox is the number of pieces of output that can wait for a viewer. With two pieces, the
// server can fetch one piece from the brain while it sends the other.
const pieceBox = 2

// terminal is one viewer of an arm's terminal. The server sends output in binary messages. It sends
// the offset, the size of the terminal and the end of the output in text messages. A viewer that
// holds the lease sends keys in binary messages.
type terminal struct {
	*socket
	s     *Server
	brain Brain
	arm   string
	lease coleo.Lease
	taken time.Time
}

func (s *Server) serveTerminal(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.ParseInt(orElse(r.URL.Query().Get("from"), "0"), 10, 64)
	if err != nil {
		writeError(w, coleo.Errorf(coleo.EInvalid, "from=%q is not an offset", r.URL.Query().Get("from")))
		return
	}
	s.sockets.Add(1)
	defer s.sockets.Done()
	k, err := s.accept(w, r, pieceBox)
	if err != nil {
		return
	}
	t := &terminal{socket: k, s: s, brain: s.brain, arm: r.PathValue("id")}
	k.run(t.read, func(ctx context.Context) error { return t.show(ctx, from) })
	t.letGo(context.WithoutCancel(k.ctx))
}

func orElse(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

// show sends the output after the given offset, and then new output. It fetches the next piece only
// when the queue has room for it, so that a slow viewer does not fill the memory. The first call of
// Brain.Output does not wait, so that the viewer learns its offset without delay.
func (t *terminal) show(ctx context.Context, from int64) error {
	cols, rows, next, wait := 0, 0, int64(-1), time.Duration(0)
	for ctx.Err() == nil {
		piece, err := t.brain.Output(ctx, t.arm, from, wait)
		wait = t.times.poll
		if err != nil {
			if ctx.Err() == nil {
				t.postError(err)
			}
			return errFinished
		}
		if piece.Offset != next {
			t.post(wire.Control{Type: "offset", Offset: &piece.Offset})
		}
		if piece.Cols != cols || piece.Rows != rows {
			cols, rows = piece.Cols, piece.Rows
			t.post(wire.Control{Type: "size", Cols: cols, Rows: rows})
		}
		next = piece.Offset + int64(len(piece.Data))
		from = next
		if len(piece.Data) > 0 {
			t.push(message{websocket.BinaryMessage, piece.Data})
		}
		if piece.End {
			t.post(wire.Control{Type: "end"})
			return errFinished
		}
	}
	return nil
}

func (t *terminal) read(kind int, data []byte) {
	if kind == websocket.BinaryMessage {
		t.keys(data)
		return
	}
	c, ok := t.parse(data)
	if !ok {
		return
	}
	switch c.Type {
	case "ping":
		t.post(wire.Control{Type: "pong"})
	case "auth":
		yes := true
		t.post(wire.Control{Type: "auth", Success: &yes})
	case "lease":
		t.takeLease(orElse(c.Holder, t.lease.Holder))
	case "release":
		t.letGo(t.ctx)
		t.post(wire.Control{Type: "lease"})
	case "resize":
		t.check(t.brain.Resize(t.ctx, t.arm, t.lease.ID, c.Cols, c.Rows))
	default:
		t.postError(coleo.Errorf(coleo.EInvalid,
			"there is no message type %q; the types are lease, release, resize and ping; keys are binary messages",
			c.Type))
	}
}

func (t *terminal) keys(data []byte) {
	if t.lease.ID == "" {
		t.postError(coleo.Errorf(coleo.EConflict, "take control first: keys need the lease"))
		return
	}
	if time.Until(t.lease.Until) < t.lease.Until.Sub(t.taken)/2 {
		t.takeLease(t.lease.Holder)
	}
	t.check(t.brain.Input(t.ctx, t.arm, t.lease.ID, data))
}

// takeLease takes or renews the lease. The audit records that a viewer takes the lease, because a
// viewer with the lease can type anything. The audit does not record renewals.
func (t *terminal) takeLease(holder string) {
	if operatorOf(t.ctx) != nil {
		t.postError(coleo.Errorf(coleo.EForbidden, "an operator token never types keys by hand"))
		return
	}
	end := func(error) {}
	if t.lease.ID == "" {
		var err error
		if end, err = t.s.audit(t.ctx, "lease-arm", t.arm, map[string]any{"holder": short(holder)}); err != nil {
			t.postError(err)
			return
		}
	}
	lease, err := t.brain.Lease(t.ctx, t.arm, wire.LeaseRequest{ID: t.lease.ID, Holder: orElse(holder, "a viewer")})
	end(err)
	if err != nil {
		t.lease = coleo.Lease{}
		t.postError(err)
		t.post(wire.Control{Type: "lease"})
		return
	}
	t.lease, t.taken = lease, time.Now()
	t.post(wire.Control{Type: "lease", Lease: &lease})
}

// letGo releases the lease, so that other clients need not wait until the lease expires.
func (t *terminal) letGo(ctx context.Context) {
	if t.lease.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.times.write)
	defer cancel()
	_, err := t.brain.Lease(ctx, t.arm, wire.LeaseRequest{ID: t.lease.ID, Release: true})
	t.lease = coleo.Lease{}
	t.check(err)
}

func (t *terminal) check(err error) {
	if err != nil {
		t.postError(err)
	}
}
