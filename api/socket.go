package api

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"coleo.dev/wire"

	"coleo.dev"
)

// These constants are the limits of a WebSocket.
const (
	maxHello   = 4 << 10  // the size of the message that authenticates the client, in bytes
	maxMessage = 1 << 20  // the size of each later message, in bytes; a paste is the largest
	ioBuffer   = 16 << 10 // the size of a buffer for reading or writing, in bytes
)

// These errors are the reasons for which the server ends a WebSocket.
var (
	errSlow     = errors.New("too slow: connect again")
	errNoNews   = errors.New("the server has no news now: connect again")
	errSilent   = errors.New("no sign of life from the client")
	errFinished = errors.New("finished")
	errUnproven = errors.New("the first message must contain the API token")
)

// socket is one WebSocket. The goroutine that creates the socket reads its messages. A second
// goroutine produces messages, and a third goroutine writes them.
type socket struct {
	conn  *websocket.Conn
	times times
	out   chan message
	ctx   context.Context
	end   context.CancelCauseFunc

	// If patient is true, the client can take any time to read. While data is on its way to the
	// client, the client need not give a sign of life.
	patient bool
	until   atomic.Pointer[time.Time] // the time when the server closes the socket if the client stays silent
}

type message struct {
	kind int
	data []byte
}

// accept upgrades a request to a WebSocket, and checks that the client has shown the token. If
// either step fails, accept reports the error to the client. At most maxUnsent messages can wait to
// be sent.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, maxUnsent int) (*socket, error) {
	up := websocket.Upgrader{HandshakeTimeout: headerTimeout, ReadBufferSize: ioBuffer, WriteBufferSize: ioBuffer}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	k := &socket{conn: conn, times: s.times, out: make(chan message, maxUnsent)}
	k.ctx, k.end = context.WithCancelCause(r.Context())
	if callerOf(r.Context()).Kind == "" {
		if err := s.prove(k); err != nil {
			k.close(err)
			return nil, err
		}
	}
	conn.SetReadLimit(maxMessage)
	k.noteSignOfLife()
	conn.SetPongHandler(func(string) error { k.noteSignOfLife(); return nil })
	answer := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { k.noteSignOfLife(); return answer(data) })
	return k, nil
}

// prove reads the client's first message, which must contain the token.
func (s *Server) prove(k *socket) error {
	k.conn.SetReadLimit(maxHello)
	_ = k.conn.SetReadDeadline(time.Now().Add(s.times.auth))
	var hello wire.Control
	if err := k.conn.ReadJSON(&hello); err != nil {
		return errUnproven
	}
	shown, ok := s.token.check(hello.APIKey)
	ok = ok && hello.Type == "auth"
	_ = k.conn.SetWriteDeadline(time.Now().Add(s.times.write))
	if err := k.conn.WriteJSON(wire.Control{Type: "auth", Success: &ok}); err != nil || !ok {
		return errUnproven
	}
	k.ctx = withCaller(k.ctx, shown.caller)
	stop := context.AfterFunc(shown.live, func() { k.end(errRevoked) })
	context.AfterFunc(k.ctx, func() { stop() })
	return nil
}

func (k *socket) noteSignOfLife() {
	until := time.Now().Add(k.times.silent)
	k.until.Store(&until)
	_ = k.conn.SetReadDeadline(until)
}

// run serves the socket until one of these events happens:
//   - The client closes the socket, gives no sign of life, or falls behind.
//   - The function that produces the messages returns.
//   - The server stops.
func (k *socket) run(read func(kind int, data []byte), produce func(ctx context.Context) error) {
	var others sync.WaitGroup
	stop := context.AfterFunc(k.ctx, func() {
		time.AfterFunc(k.times.write, func() { _ = k.conn.Close() }) // interrupts a write that is in progress
	})
	defer stop()
	others.Go(k.write)
	others.Go(func() {
		err := produce(k.ctx)
		if err == nil {
			err = errFinished
		}
		k.end(err)
	})
	for {
		kind, data, err := k.conn.ReadMessage()
		if err != nil {
			k.end(readError(err))
			break
		}
		k.noteSignOfLife()
		read(kind, data)
	}
	others.Wait()
}

func readError(err error) error {
	var of net.Error
	if errors.As(err, &of) && of.Timeout() {
		return errSilent
	}
	return err
}

// write sends the queued messages and the pings. When the socket ends, write sends the reason to
// the client and closes the connection. Closing the connection also ends the goroutine that reads.
func (k *socket) write() {
	ping := time.NewTicker(k.times.ping)
	defer ping.Stop()
	for k.ctx.Err() == nil {
		select {
		case m := <-k.out:
			k.put(m)
		case <-ping.C:
			k.put(message{kind: websocket.PingMessage})
		case <-k.ctx.Done():
		}
	}
	cause := context.Cause(k.ctx)
	for (errors.Is(cause, errFinished) || errors.Is(cause, errNoNews)) && len(k.out) > 0 {
		k.put(<-k.out)
	}
	k.close(cause)
}

func (k *socket) put(m message) {
	if k.patient {
		k.putPatiently(m)
		return
	}
	_ = k.conn.SetWriteDeadline(time.Now().Add(k.times.write))
	if err := k.conn.WriteMessage(m.kind, m.data); err != nil {
		k.end(errSlow)
	}
}

// putPatiently does the same as put, for a patient socket. During the write, the client need not give a sign of
// life. A completed write counts as a sign of life, because it shows that the client has read earlier data. A ping
// is so small that a quick write of it proves nothing. A ping therefore counts only if its write took at least
// times.ping.
func (k *socket) putPatiently(m message) {
	_ = k.conn.SetReadDeadline(time.Time{})
	_ = k.conn.SetWriteDeadline(time.Time{})
	begin := time.Now()
	if err := k.conn.WriteMessage(m.kind, m.data); err != nil {
		k.end(errSlow)
		return
	}
	if m.kind == websocket.PingMessage && time.Since(begin) < k.times.ping {
		_ = k.conn.SetReadDeadline(*k.until.Load())
		return
	}
	k.noteSignOfLife()
}

// close sends the reason to the client, and closes the connection.
func (k *socket) close(cause error) {
	code, why := websocket.CloseGoingAway, "the server is stopping"
	switch {
	case errors.Is(cause, errFinished):
		code, why = websocket.CloseNormalClosure, ""
	case errors.Is(cause, errSlow), errors.Is(cause, errNoNews):
		code, why = websocket.CloseTryAgainLater, cause.Error()
	case errors.Is(cause, errUnproven), errors.Is(cause, errSilent), errors.Is(cause, errRevoked):
		code, why = websocket.ClosePolicyViolation, cause.Error()
	}
	_ = k.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why),
		time.Now().Add(time.Second))
	k.end(cause)
	_ = k.conn.Close()
}

// post puts a message into the queue. If the queue is full, post waits until there is room.
func (k *socket) post(v any) {
	if m, ok := k.text(v); ok {
		k.push(m)
	}
}

func (k *socket) push(m message) {
	select {
	case k.out <- m:
	case <-k.ctx.Done():
	}
}

func (k *socket) text(v any) (message, bool) {
	data, err := json.Marshal(v)
	if err != nil {
		k.end(err)
	}
	return message{websocket.TextMessage, data}, err == nil
}

// postError sends an error to the client, and leaves the socket open.
func (k *socket) postError(err error) {
	k.post(wire.Control{Type: "error", Error: asError(err)})
}

// parse decodes a text message. If this fails, parse sends an error to the client and returns
// false.
func (k *socket) parse(data []byte) (wire.Control, bool) {
	var c wire.Control
	if err := json.Unmarshal(data, &c); err != nil {
		k.postError(coleo.Errorf(coleo.EInvalid, "a message is JSON with a type: %w", err))
		return c, false
	}
	return c, true
}
