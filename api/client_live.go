package api

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/wire"
)

// connect opens a WebSocket. It closes the WebSocket when ctx ends, or when it finds
// that the server's process cannot answer.
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

// Follow returns a sequence of updates, which ends when ctx ends. The sequence begins
// with all present arms, one after another. Then it has every change of an arm, and
// every event after the given cursor. If the given cursor is empty, the first event is
// the next new event. If the connection breaks, the sequence ends with EUnavailable. To
// continue, call Follow again with the cursor of the last event.
func (c *Client) Follow(ctx context.Context, after string) iter.Seq2[wire.Update, error] {
	return func(yield func(wire.Update, error) bool) {
		conn, done, err := c.connect(ctx, "/ws")
		if err != nil {
			yield(wire.Update{}, err)
			return
		}
		defer done()
		if err := conn.WriteJSON(control{Type: "subscribe", Channel: channelAll, After: after}); err != nil {
			yield(wire.Update{}, c.unreachable(ctx, get, err))
			return
		}
		for {
			var m feedMessage
			if err := conn.ReadJSON(&m); err != nil {
				if ctx.Err() == nil {
					yield(wire.Update{}, coleo.Errorf(coleo.EUnavailable, "the connection to %s ended: %w", c.where,
						err))
				}
				return
			}
			updates, err := m.updates()
			if err != nil {
				yield(wire.Update{}, err)
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

// feedMessage is a message of /ws, as a client decodes it.
type feedMessage struct {
	Type    string          `json:"type"`
	Error   *coleo.Error    `json:"error"`
	Channel string          `json:"channel"`
	Event   string          `json:"event"`
	Data    json.RawMessage `json:"data"`
	Cursor  string          `json:"cursor"`
}

func (m feedMessage) updates() ([]wire.Update, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	var err error
	switch {
	case m.Event == "arms.snapshot":
		var all armsReply
		err = json.Unmarshal(m.Data, &all)
		out := make([]wire.Update, len(all.Arms))
		for i := range all.Arms {
			out[i].Arm = &all.Arms[i]
		}
		return out, err
	case m.Event == "arm.created", m.Event == "arm.updated":
		arm := new(coleo.Arm)
		err = json.Unmarshal(m.Data, arm)
		return []wire.Update{{Arm: arm}}, err
	case m.Event == "arm.deleted":
		var gone removed
		err = json.Unmarshal(m.Data, &gone)
		return []wire.Update{{Removed: gone.ID}}, err
	case m.Channel == channelEvents:
		event := new(coleo.Event)
		err = json.Unmarshal(m.Data, event)
		return []wire.Update{{Event: event, Cursor: m.Cursor}}, err
	}
	return nil, nil
}
