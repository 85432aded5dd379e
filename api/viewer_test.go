package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev/localsocket"
	"coleo.dev/wire"

	"coleo.dev"
)

// viewer is a client of /ws/terminal, like the dashboard. One goroutine may call `next` and `offset` while
// another goroutine calls the other methods.
type viewer struct {
	conn  *websocket.Conn
	done  func()
	write sync.Mutex
	at    int64
}

// piece is one message that a viewer receives. Each message sets one field, but Cols and Rows are
// set together.
type piece struct {
	Data       []byte // output that ends at the viewer's offset
	Offset     *int64 // the offset at which the next output begins; sent first, and after deleted output
	Cols, Rows int    // the terminal's size, in cells
	Lease      *coleo.Lease
	Lost       bool         // the lease was released, refused or taken away
	Err        *coleo.Error // the error of a request of this viewer; more pieces follow
	End        bool         // the program has ended, and all output was sent
}

// viewOf opens an arm's terminal stream at an offset, over a server's socket. A negative offset
// counts from the end.
func viewOf(ctx context.Context, socket, arm string, from int64) (*viewer, error) {
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) {
		return localsocket.Dial(socket)
	}}
	conn, _, err := dialer.DialContext(ctx, fmt.Sprintf("ws://localhost/ws/terminal/%s?from=%d", arm, from), nil)
	if err != nil {
		return nil, err
	}
	return &viewer{conn: conn, done: func() { _ = conn.Close() }}, nil
}

// next waits for the next piece and returns it. When the stream has ended, it returns EUnavailable. The caller
// can then open the stream again, at the position that `offset` returns.
func (v *viewer) next() (piece, error) {
	for {
		kind, data, err := v.conn.ReadMessage()
		if err != nil {
			return piece{}, coleo.Errorf(coleo.EUnavailable, "the terminal's stream ended: %w", err)
		}
		if kind == websocket.BinaryMessage {
			v.at += int64(len(data))
			return piece{Data: data}, nil
		}
		var c wire.Control
		if err := json.Unmarshal(data, &c); err != nil {
			return piece{}, coleo.Errorf(coleo.EUnavailable, "read the terminal's stream: %w", err)
		}
		if p, ok := v.pieceOf(c); ok {
			return p, nil
		}
	}
}

func (v *viewer) pieceOf(c wire.Control) (piece, bool) {
	switch {
	case c.Type == "offset" && c.Offset != nil:
		v.at = *c.Offset
		return piece{Offset: c.Offset}, true
	case c.Type == "size":
		return piece{Cols: c.Cols, Rows: c.Rows}, true
	case c.Type == "lease":
		return piece{Lease: c.Lease, Lost: c.Lease == nil}, true
	case c.Type == "error":
		return piece{Err: c.Error}, true
	case c.Type == "end":
		return piece{End: true}, true
	}
	return piece{}, false
}

// offset returns the position after the last output that `next` has returned. Only the goroutine that calls
// `next` may call `offset`.
func (v *viewer) offset() int64 { return v.at }

// input types keys, which needs the lease. If the server refuses the keys, the refusal arrives as a
// piece.
func (v *viewer) input(keys []byte) error { return v.send(websocket.BinaryMessage, keys) }

// lease asks for the lease, the right to type, or renews it. Other viewers see the name `holder`. The answer
// arrives as a piece.
func (v *viewer) lease(holder string) error {
	return v.control(wire.Control{Type: "lease", Holder: holder})
}

// release releases the lease. close does so too.
func (v *viewer) release() error { return v.control(wire.Control{Type: "release"}) }

// resize changes the size of the terminal, in cells, which needs the lease. If the server refuses
// the size, the refusal arrives as a piece.
func (v *viewer) resize(cols, rows int) error {
	return v.control(wire.Control{Type: "resize", Cols: cols, Rows: rows})
}

func (v *viewer) control(c wire.Control) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return v.send(websocket.TextMessage, data)
}

func (v *viewer) send(kind int, data []byte) error {
	v.write.Lock()
	defer v.write.Unlock()
	_ = v.conn.SetWriteDeadline(time.Now().Add(headerTimeout))
	if err := v.conn.WriteMessage(kind, data); err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		return coleo.Errorf(coleo.EUnavailable, "the terminal's stream ended: %w", err)
	}
	return nil
}

// close ends the stream.
func (v *viewer) close() { v.done() }
