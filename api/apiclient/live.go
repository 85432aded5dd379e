package apiclient

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev"
	"coleo.dev/api/sse"
	"coleo.dev/wire"
)

// connect opens a WebSocket, and returns it with a function that closes it. connect also closes the
// WebSocket when ctx ends, or when the server's process can no longer answer.
func (c *Client) connect(ctx context.Context, path string) (*websocket.Conn, func(), error) {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	ctx, unwatch, err := c.watchServer(ctx)
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
		return nil, nil, c.unreachableError(ctx, get, err)
	}
	hangUp := func() { _ = conn.Close() }
	stop := context.AfterFunc(ctx, hangUp)
	return conn, func() { stop(); unwatch(); hangUp() }, nil
}

// Runs returns a page of the runs that match a filter, newest first. It also returns the cursor for
// the next page. An empty page means that there are no more runs.
func (c *Client) Runs(ctx context.Context, f wire.RunFilter) ([]coleo.Run, string, error) {
	query := url.Values{}
	set(query, "arm", f.Arm)
	set(query, "outcome", string(f.Outcome))
	set(query, "before", f.Before)
	if !f.Since.IsZero() {
		query.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	var out wire.RunsReply
	err := c.call(ctx, get, "/api/runs?"+query.Encode(), nil, &out)
	return out.Runs, out.Next, err
}

// Run returns the summary of one run. The id can be shortened if only one run's id begins with the
// remaining text. Run returns ENotFound if there is no such run.
func (c *Client) Run(ctx context.Context, id string) (coleo.Run, error) {
	var out wire.RunReply
	err := c.call(ctx, get, "/api/runs/"+url.PathEscape(id), nil, &out)
	return out.Run, err
}

// Events returns a page of the events of an arm, of a run or of all arms. It also returns the
// cursor for the next page. If the events are large, the page can contain fewer events than the
// limit. An empty page means that there are no more events.
func (c *Client) Events(ctx context.Context, f wire.EventFilter) ([]coleo.Event, string, error) {
	var out wire.EventsReply
	err := c.call(ctx, get, eventsPath(f), nil, &out)
	return out.Events, out.Next, err
}

// FollowEvents returns a sequence of the events that match a filter. The sequence continues until
// ctx ends. Each update contains an event and its cursor, or only a cursor as a sign of life. A
// cursor means that the client has received every event up to it. If the connection breaks, the
// sequence ends with EUnavailable. To continue, call FollowEvents again with the last cursor.
func (c *Client) FollowEvents(ctx context.Context, f wire.EventFilter) iter.Seq2[wire.Update, error] {
	return func(yield func(wire.Update, error) bool) {
		ctx, done, err := c.watchServer(ctx)
		if err != nil {
			yield(wire.Update{}, err)
			return
		}
		defer done()
		resp, err := c.send(ctx, get, eventsPath(f), sse.ContentType, nil)
		if err != nil {
			yield(wire.Update{}, err)
			return
		}
		defer resp.Body.Close()
		broken := error(io.EOF)
		for m, err := range sse.Read(resp.Body) {
			if err != nil {
				broken = err
				break
			}
			u := wire.Update{Cursor: m.ID}
			if len(m.Data) > 0 {
				if err := json.Unmarshal(m.Data, &u.Event); err != nil {
					yield(wire.Update{}, coleo.Errorf(coleo.EInternal, "read an event after %s: %v", m.ID, err))
					return
				}
			}
			if !yield(u, nil) {
				return
			}
		}
		if ctx.Err() == nil || coleo.ErrorCode(context.Cause(ctx)) == coleo.EUnavailable {
			yield(wire.Update{}, c.unreachableError(ctx, get, broken))
		}
	}
}

func eventsPath(f wire.EventFilter) string {
	path, query := "/api/events", url.Values{}
	switch {
	case f.Run != "":
		path = "/api/runs/" + url.PathEscape(f.Run) + "/events"
	case f.Arm != "":
		path = armPath(f.Arm, "/events")
	}
	kinds := make([]string, len(f.Kinds))
	for i, kind := range f.Kinds {
		kinds[i] = string(kind)
	}
	set(query, "kind", strings.Join(kinds, ","))
	set(query, "after", f.After)
	if f.Limit > 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return path + "?" + query.Encode()
}

// set sets a parameter of the query if the value is not empty.
func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// Follow returns a sequence of updates, which ends when ctx ends. The sequence first contains an empty update,
// and then all present arms. Any other arm no longer exists. After that, it contains every change of an arm,
// and every event after the given cursor. If the given cursor is empty, the first event is the next new event.
// If the connection breaks, the sequence ends with EUnavailable. To continue, call Follow again with the cursor
// of the last event.
func (c *Client) Follow(ctx context.Context, after string) iter.Seq2[wire.Update, error] {
	return func(yield func(wire.Update, error) bool) {
		conn, done, err := c.connect(ctx, "/ws")
		if err != nil {
			yield(wire.Update{}, err)
			return
		}
		defer done()
		if err := conn.WriteJSON(wire.Control{Type: "subscribe", Channel: wire.ChannelAll, After: after}); err != nil {
			yield(wire.Update{}, c.unreachableError(ctx, get, err))
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
		var all wire.ArmsReply
		err = json.Unmarshal(m.Data, &all)
		out := make([]wire.Update, 1, 1+len(all.Arms))
		for i := range all.Arms {
			out = append(out, wire.Update{Arm: &all.Arms[i]})
		}
		return out, err
	case m.Event == "arm.created", m.Event == "arm.updated":
		arm := new(coleo.Arm)
		err = json.Unmarshal(m.Data, arm)
		return []wire.Update{{Arm: arm}}, err
	case m.Event == "arm.deleted":
		var gone wire.RemovedArm
		err = json.Unmarshal(m.Data, &gone)
		return []wire.Update{{Removed: gone.ID}}, err
	case m.Channel == wire.ChannelEvents:
		event := new(coleo.Event)
		err = json.Unmarshal(m.Data, event)
		return []wire.Update{{Event: event, Cursor: m.Cursor}}, err
	}
	return nil, nil
}
