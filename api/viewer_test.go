package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
)

// viewer is a client of /ws/terminal, as the dashboard is one. One goroutine may call next
// and offset while another one calls the other methods.
type viewer struct {
	conn  *websocket.Conn
	done  func()
	write sync.Mutex
	at    int64
}

// piece is one message that a viewer receives. Exactly one field is set, apart from Cols
// and Rows, which come together.
type piece struct {
	Data       []byte // output that ends at viewer.offset
	Offset     *int64 // where the following output begins; sent first and after a gap
	Cols, Rows int    // the terminal's size, in cells
	Lease      *coleo.Lease
	Lost       bool         // the lease was released, refused or taken away
	Err        *coleo.Error // the error of this viewer's request; the stream goes on
	End        bool         // the program has ended, and all output was sent
}

// viewOf opens an arm's terminal stream at an offset. A negative offset counts from the
// end.
func viewOf(ctx context.Context, c *Client, arm string, from int64) (*viewer, error) {
	path := strings.TrimPrefix(armPath(arm, ""), "/api/arms/")
	conn, done, err := c.connect(ctx, fmt.Sprintf("/ws/terminal/%s?from=%d", path, from))
	if err != nil {
		return nil, err
	}
	return &viewer{conn: conn, done: done}, nil
}

// next waits for the next piece and returns it. It returns EUnavailable when the stream
// has ended. The caller can then open it again at offset.
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
		var c control
		if err := json.Unmarshal(data, &c); err != nil {
			return piece{}, coleo.Errorf(coleo.EUnavailable, "read the terminal's stream: %w", err)
		}
		if p, ok := v.pieceOf(c); ok {
			return p, nil
		}
	}
}

func (v *viewer) pieceOf(c control) (piece, bool) {
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

// offset returns the position after the last output that next returned. It must be called
// by the goroutine that calls next.
func (v *viewer) offset() int64 { return v.at }

// input types keys. It needs the lease. A refusal arrives as a piece.
func (v *viewer) input(keys []byte) error { return v.send(websocket.BinaryMessage, keys) }

// lease asks for the right to type, or renews it. Other viewers see holder. The answer
// arrives as a piece.
func (v *viewer) lease(holder string) error { return v.control(control{Type: "lease", Holder: holder}) }

// release gives the lease back. close does that too.
func (v *viewer) release() error { return v.control(control{Type: "release"}) }

// resize changes the size of the terminal, in cells. It needs the lease. A refusal
// arrives as a piece.
func (v *viewer) resize(cols, rows int) error {
	return v.control(control{Type: "resize", Cols: cols, Rows: rows})
}

func (v *viewer) control(c control) error {
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
