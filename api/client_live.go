package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
)

// connect opens a WebSocket. The socket is closed when ctx ends, or when the server's
// process is seen to be stopped.
func (c *Client) connect(ctx context.Context, path string) (*websocket.Conn, func(), error) {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	ctx, unwatch, err := c.watched(ctx)
	if err != nil {
		return nil, nil, err
	}
	conn, resp, err := c.dial.DialContext(ctx, "ws"+strings.TrimPrefix(c.base, "http")+path, header)
	if err != nil {
		defer unwatch()
		if resp != nil {
			defer resp.Body.Close()
			return nil, nil, c.decodeError(resp)
		}
		return nil, nil, c.unreachable(ctx, get, err)
	}
	hangUp := func() { _ = conn.Close() }
	stop := context.AfterFunc(ctx, hangUp)
	return conn, func() { stop(); unwatch(); hangUp() }, nil
}

// Follow returns the present arms, one after another, and then what happens, until ctx
// ends. It also returns the events after a cursor; the empty cursor means now. If the
// connection breaks, the sequence ends with EUnavailable. The caller then calls Follow
// again, with the cursor of the last event.
func (c *Client) Follow(ctx context.Context, after string) iter.Seq2[coleo.Update, error] {
	return func(yield func(coleo.Update, error) bool) {
		conn, done, err := c.connect(ctx, "/ws")
		if err != nil {
			yield(coleo.Update{}, err)
			return
		}
		defer done()
		if err := conn.WriteJSON(control{Type: "subscribe", Channel: channelAll, After: after}); err != nil {
			yield(coleo.Update{}, c.unreachable(ctx, get, err))
			return
		}
		for {
			var m feedMessage
			if err := conn.ReadJSON(&m); err != nil {
				if ctx.Err() == nil {
					yield(coleo.Update{}, coleo.Errorf(coleo.EUnavailable, "the connection to %s ended: %w", c.where, err))
				}
				return
			}
			updates, err := m.updates()
			if err != nil {
				yield(coleo.Update{}, err)
				return
			}
			for _, u := range updates {
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// feedMessage is a message of /ws as a client sees it.
type feedMessage struct {
	Type    string          `json:"type"`
	Error   *coleo.Error    `json:"error"`
	Channel string          `json:"channel"`
	Event   string          `json:"event"`
	Data    json.RawMessage `json:"data"`
	Cursor  string          `json:"cursor"`
}

func (m feedMessage) updates() ([]coleo.Update, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	var err error
	switch {
	case m.Event == "arms.snapshot":
		var all armsReply
		err = json.Unmarshal(m.Data, &all)
		out := make([]coleo.Update, len(all.Arms))
		for i := range all.Arms {
			out[i].Arm = &all.Arms[i]
		}
		return out, err
	case m.Event == "arm.created", m.Event == "arm.updated":
		arm := new(coleo.Arm)
		err = json.Unmarshal(m.Data, arm)
		return []coleo.Update{{Arm: arm}}, err
	case m.Event == "arm.deleted":
		var gone removed
		err = json.Unmarshal(m.Data, &gone)
		return []coleo.Update{{Removed: gone.ID}}, err
	case m.Channel == channelEvents:
		event := new(coleo.Event)
		err = json.Unmarshal(m.Data, event)
		return []coleo.Update{{Event: event, Cursor: m.Cursor}}, err
	}
	return nil, nil
}

// Viewer is a terminal stream. One goroutine may call Next and Offset while another one
// calls the other methods.
type Viewer struct {
	conn  *websocket.Conn
	done  func()
	write sync.Mutex
	at    int64
}

// Piece is one message that a Viewer receives. Exactly one field is set, apart from Cols
// and Rows, which come together.
type Piece struct {
	Data       []byte // output that ends at Viewer.Offset
	Offset     *int64 // where the following output begins; sent first and after a gap
	Cols, Rows int    // the terminal's size, in cells
	Lease      *coleo.Lease
	Lost       bool         // the lease was released, refused or taken away
	Err        *coleo.Error // the error of this viewer's request; the stream goes on
	End        bool         // the program has ended, and all output was sent
}

// View opens an arm's terminal stream at an offset. A negative offset counts from the
// end.
func (c *Client) View(ctx context.Context, arm string, from int64) (*Viewer, error) {
	path := strings.TrimPrefix(armPath(arm, ""), "/api/arms/")
	conn, done, err := c.connect(ctx, fmt.Sprintf("/ws/terminal/%s?from=%d", path, from))
	if err != nil {
		return nil, err
	}
	return &Viewer{conn: conn, done: done}, nil
}

// Next waits for the next piece and returns it. It returns EUnavailable when the stream
// has ended. The caller can then open it again at Offset.
func (v *Viewer) Next() (Piece, error) {
	for {
		kind, data, err := v.conn.ReadMessage()
		if err != nil {
			return Piece{}, coleo.Errorf(coleo.EUnavailable, "the terminal's stream ended: %w", err)
		}
		if kind == websocket.BinaryMessage {
			v.at += int64(len(data))
			return Piece{Data: data}, nil
		}
		var c control
		if err := json.Unmarshal(data, &c); err != nil {
			return Piece{}, coleo.Errorf(coleo.EUnavailable, "read the terminal's stream: %w", err)
		}
		if p, ok := v.piece(c); ok {
			return p, nil
		}
	}
}

func (v *Viewer) piece(c control) (Piece, bool) {
	switch {
	case c.Type == "offset" && c.Offset != nil:
		v.at = *c.Offset
		return Piece{Offset: c.Offset}, true
	case c.Type == "size":
		return Piece{Cols: c.Cols, Rows: c.Rows}, true
	case c.Type == "lease":
		return Piece{Lease: c.Lease, Lost: c.Lease == nil}, true
	case c.Type == "error":
		return Piece{Err: c.Error}, true
	case c.Type == "end":
		return Piece{End: true}, true
	}
	return Piece{}, false
}

// Offset returns the position after the last output that Next returned. It must be called
// by the goroutine that calls Next.
func (v *Viewer) Offset() int64 { return v.at }

// Input types keys. It needs the lease. A refusal arrives as a piece.
func (v *Viewer) Input(keys []byte) error { return v.send(websocket.BinaryMessage, keys) }

// Lease asks for the right to type, or renews it. Other viewers see holder. The answer
// arrives as a piece.
func (v *Viewer) Lease(holder string) error { return v.control(control{Type: "lease", Holder: holder}) }

// Release gives the lease back. Close does that too.
func (v *Viewer) Release() error { return v.control(control{Type: "release"}) }

// Resize changes the size of the terminal, in cells. It needs the lease. A refusal
// arrives as a piece.
func (v *Viewer) Resize(cols, rows int) error {
	return v.control(control{Type: "resize", Cols: cols, Rows: rows})
}

func (v *Viewer) control(c control) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return v.send(websocket.TextMessage, data)
}

func (v *Viewer) send(kind int, data []byte) error {
	v.write.Lock()
	defer v.write.Unlock()
	_ = v.conn.SetWriteDeadline(time.Now().Add(headerTimeout))
	if err := v.conn.WriteMessage(kind, data); err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		return coleo.Errorf(coleo.EUnavailable, "the terminal's stream ended: %w", err)
	}
	return nil
}

// Close ends the stream.
func (v *Viewer) Close() { v.done() }
