package door

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/localsocket"
)

const (
	// maxConnections is the largest number of connections of one door. An agent CLI has one
	// connection for each waiting call, so it needs far fewer. The door closes further connections
	// at once.
	maxConnections = 64
	// lineTimeout limits the wait for a whole line. The wait begins when the caller has connected
	// or has received a result. A caller on the same machine needs far less.
	lineTimeout = 30 * time.Second
	// writeTimeout limits the wait for a caller that does not read its answer. A caller that works
	// properly reads its answer at once.
	writeTimeout = 10 * time.Second
)

// Handler carries out the calls of one arm.
type Handler interface {
	// Call carries out a request and returns the text for the model. If the request must wait for the answer to a
	// question (a coleo.Suspension), Call first passes the question's id to `waiting`. If ctx ends, the caller has
	// disconnected and cannot receive the result.
	Call(ctx context.Context, q Request, waiting func(id string)) (string, error)
	// AnswerDelivered records that the model has received the result of the request with this key.
	AnswerDelivered(ctx context.Context, key string)
}

// Door is the socket of one arm.
type Door struct {
	listener *localsocket.Listener
	handler  Handler
	end      context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Open opens a door at `path`. The door calls checkPeer with each process that connects, and refuses the
// process if checkPeer returns an error. If checkPeer is nil, every process of the user may use the door.
// Open returns the errors of localsocket.Listen.
func Open(path string, checkPeer func(localsocket.Peer) error, h Handler) (*Door, error) {
	l, err := localsocket.Listen(path, checkPeer)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	d := &Door{listener: l, handler: h, end: end, conns: map[net.Conn]bool{}}
	d.running.Go(func() { d.accept(ctx) })
	return d, nil
}

// Close closes the door and its connections, and waits until all calls have returned.
func (d *Door) Close() error {
	d.end()
	err := d.listener.Close()
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.running.Wait()
	return err
}

// acceptRetry is the pause after a failed accept. An accept fails, for example, if this process has
// too many open files.
const acceptRetry = 100 * time.Millisecond

func (d *Door) accept(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := d.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			select {
			case <-time.After(acceptRetry):
			case <-ctx.Done():
			}
		case !d.enter(ctx, conn):
			_ = conn.Close()
		default:
			d.running.Go(func() {
				defer d.leave(conn)
				d.serve(ctx, conn)
			})
		}
	}
}

func (d *Door) enter(ctx context.Context, conn net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil || len(d.conns) >= maxConnections {
		return false
	}
	d.conns[conn] = true
	return true
}

func (d *Door) leave(conn net.Conn) {
	_ = conn.Close()
	d.mu.Lock()
	delete(d.conns, conn)
	d.mu.Unlock()
}

// serve carries out the requests of one connection, one at a time.
func (d *Door) serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan []byte, 1)
	d.running.Go(func() {
		defer cancel() // stops the running call when reading has ended, usually because the caller has disconnected
		defer close(lines)
		read(conn, lines)
	})
	for line := range lines {
		_ = conn.SetReadDeadline(time.Time{}) // the call may wait for days
		if !d.answer(ctx, conn, line) {
			_ = conn.Close() // ends read
			cancel()
			continue
		}
		_ = conn.SetReadDeadline(time.Now().Add(lineTimeout))
	}
}

// read reads a connection and sends each line to the channel `lines`. It stops when the connection ends, when a
// line is too long, or when the caller sends more requests than the channel can hold.
func read(conn net.Conn, lines chan<- []byte) {
	_ = conn.SetReadDeadline(time.Now().Add(lineTimeout))
	scanner := bufio.NewScanner(conn)
	scanner.Buffer(make([]byte, 0, 4<<10), MaxLine)
	for scanner.Scan() {
		select {
		case lines <- append([]byte(nil), scanner.Bytes()...):
		default: // give up, because another request already waits behind the one that is being carried out
			return
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		_ = send(conn, errorResponse("", coleo.Errorf(coleo.EInvalid, "the request has more than %d bytes", MaxLine)))
	}
}

// answer carries out one request. It returns false if serve must close the connection.
func (d *Door) answer(ctx context.Context, conn net.Conn, line []byte) bool {
	var q Request
	if err := json.Unmarshal(line, &q); err != nil {
		_ = send(conn, errorResponse("", coleo.Errorf(coleo.EInvalid, "the request is not a line of JSON: %v", err)))
		return false
	}
	switch {
	case q.Key == "" || len(q.Key) > maxKey:
		_ = send(conn, errorResponse("", coleo.Errorf(coleo.EInvalid, "a request needs a key of 1 to %d bytes", maxKey)))
		return false
	case q.Got:
		d.handler.AnswerDelivered(context.WithoutCancel(ctx), q.Key) // record the delivery even if the caller hangs up
		return true
	}
	text, err := d.handler.Call(ctx, q, func(id string) { _ = send(conn, Response{Key: q.Key, Waiting: id}) })
	if ctx.Err() != nil {
		return false // the caller has disconnected; it sends the same request again, or has given up
	}
	if err != nil {
		return send(conn, errorResponse(q.Key, err)) == nil
	}
	return send(conn, Response{Key: q.Key, Result: &text}) == nil
}

func errorResponse(key string, err error) Response {
	f := &Failure{Code: coleo.ErrorCode(err), Message: err.Error()}
	var e *coleo.Error
	if errors.As(err, &e) {
		f.Message = e.Message
	}
	return Response{Key: key, Error: f}
}

func send(conn net.Conn, r Response) error {
	line, err := json.Marshal(r)
	for err == nil && len(line) >= MaxLine {
		switch {
		case r.Result != nil:
			text := shortened(*r.Result)
			r.Result = &text
		case r.Error != nil:
			r.Error = &Failure{r.Error.Code, shortened(r.Error.Message)}
		}
		line, err = json.Marshal(r)
	}
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = conn.Write(append(line, '\n'))
	return err
}

// cutNote ends the text of a result that was too long for a line.
const cutNote = "\n… (shortened)"

// shortened returns the first half of a text, with a note. JSON makes some texts six times as long, so a text that
// is too long for a line can be much shorter than MaxLine.
func shortened(text string) string {
	text = strings.TrimSuffix(text, cutNote)
	return strings.ToValidUTF8(text[:len(text)/2], "") + cutNote
}
