package door

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"coleo.dev"
	"coleo.dev/localsocket"
)

// These are the bounds of the pause before the next attempt to connect. The pause doubles after
// each failure. It begins short, so that a call continues soon after a restart of the host agent.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Second
)

// Client sends the requests of one arm to the arm's door.
type Client struct{ Path string }

// Call sends a request and returns the text of the result. It connects again if the door is closed, and sends
// the request again if the connection is lost. If the request waits for the answer to a question (a
// coleo.Suspension), Call passes the question's id to onWait. If ctx ends, Call returns the error of ctx. If the
// request or the answer is too large for a line, the error is EInvalid. Other errors come from the door, or report
// that another user owns the socket.
//
// The caller must call the returned function after it has delivered the text to the model. The function reports
// the delivery to the door.
func (c Client) Call(ctx context.Context, q Request, onWait func(id string)) (text string, got func(), err error) {
	if _, err := encode(q); err != nil {
		return "", nil, err // no door would accept the request, however often the client sent it
	}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		text, got, err := c.try(ctx, q, onWait)
		if !errors.Is(err, errLost) {
			return text, got, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", nil, ctx.Err()
		}
	}
}

// errLost means that the connection ended without a result.
var errLost = errors.New("the connection to the door was lost")

// try sends the request over one connection, and returns errLost if the caller should try again.
func (c Client) try(ctx context.Context, q Request, waiting func(id string)) (string, func(), error) {
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	conn, err := localsocket.Dial(c.Path)
	if coleo.ErrorCode(err) == coleo.EForbidden {
		return "", nil, err
	}
	if err != nil {
		return "", nil, errLost
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	keep := false
	defer func() {
		if !keep {
			stop()
			_ = conn.Close()
		}
	}()
	if err := write(conn, q); err != nil {
		return "", nil, errLost
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 4<<10), MaxLine)
	for lines.Scan() {
		var r Response
		switch err := json.Unmarshal(lines.Bytes(), &r); {
		case err != nil:
			return "", nil, errLost
		case r.Error != nil:
			return "", nil, coleo.Errorf(r.Error.Code, "%s", r.Error.Message)
		case r.Result != nil:
			keep = true
			return *r.Result, func() {
				if stop() {
					_ = write(conn, Request{Key: q.Key, Got: true})
				}
				_ = conn.Close()
			}, nil
		case r.Waiting != "":
			waiting(r.Waiting)
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case errors.Is(lines.Err(), bufio.ErrTooLong): // the door would send the same answer again
		return "", nil, coleo.Errorf(coleo.EInvalid, "the answer has more than %d bytes", MaxLine)
	}
	return "", nil, errLost
}

// encode returns a request as a line. It returns EInvalid if the line would be too long for a door.
func encode(q Request) ([]byte, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the request cannot be written as JSON: %v", err)
	}
	if line = append(line, '\n'); len(line) > MaxLine {
		return nil, coleo.Errorf(coleo.EInvalid, "the request has %d bytes, more than %d", len(line), MaxLine)
	}
	return line, nil
}

func write(conn net.Conn, q Request) error {
	line, err := encode(q)
	if err != nil {
		return err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = conn.Write(line)
	return err
}
