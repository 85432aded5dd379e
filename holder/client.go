package holder

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
	"coleo.dev/localsocket"
)

// answerTimeout bounds a holder's answer to a request other than stop. The holder makes
// at most one system call for such a request.
const answerTimeout = 10 * time.Second

// Client is a connection to one holder. Requests are carried out one after another. Its
// methods may be called from several goroutines. They return EUnavailable when the holder
// has gone and ETimeout when it does not answer.
type Client struct {
	dir   string
	nonce string

	asking sync.Mutex // held while a request waits for its answer; taken before mu
	ending sync.Mutex // held while a stop waits for its answer; taken before asking

	mu     sync.Mutex
	conn   net.Conn // nil: no connection, because the last request was not answered in time
	closed bool
}

// Dial connects to the holder of a folder. The holder must have been started with nonce,
// otherwise the error is EUnproven. With an empty nonce only Status is answered, except
// by a holder that a person runs.
//
// The error is EForbidden for a process that belongs to an arm, and EUnavailable when
// nothing listens. It is ETimeout when the holder is there and does not answer, because
// it is stopped or its disk hangs.
func Dial(dir, nonce string) (*Client, error) {
	conn, err := connect(dir, nonce)
	if err != nil {
		return nil, err
	}
	return &Client{dir: dir, nonce: nonce, conn: conn}, nil
}

func connect(dir, nonce string) (net.Conn, error) {
	conn, err := localsocket.Dial(SocketPath(dir))
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist) {
		return nil, coleo.Errorf(coleo.EUnavailable, "no holder listens in %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the holder in %s: %w", dir, err)
	}
	status, err := ask(conn, request{Op: askHello, Version: protocolVersion, Nonce: nonce}, answerTimeout)
	if err == nil {
		err = checkSender(conn, status.Status.Holder)
	}
	if err == nil && nonce != "" && status.Status.Nonce != nonce {
		err = coleo.Errorf(coleo.EUnproven, "the holder in %s is not the expected one", dir)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkSender refuses an answer that names another process than the one that sent it.
func checkSender(conn *net.UnixConn, named coleo.Identity) error {
	p, err := localsocket.PeerOf(conn)
	if err == nil && p.PID != 0 && p.PID != named.PID {
		err = coleo.Errorf(coleo.EUnproven, "process %d answers for a holder and says that it is process %d", p.PID,
			named.PID)
	}
	return err
}

func ask(conn net.Conn, q request, timeout time.Duration) (response, error) {
	_ = conn.SetDeadline(time.Now().Add(timeout))
	defer conn.SetDeadline(time.Time{})
	if err := writeJSON(conn, frameRequest, q); err != nil {
		return response{}, unanswered(q.Op, err)
	}
	kind, payload, err := readFrame(conn)
	if err != nil {
		return response{}, unanswered(q.Op, err)
	}
	var r response
	if kind != frameResponse || json.Unmarshal(payload, &r) != nil {
		return response{}, coleo.Errorf(coleo.EInternal, "ask the holder to %s: unreadable answer", q.Op)
	}
	if r.Error != nil {
		return r, r.Error
	}
	return r, nil
}

func unanswered(op string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return coleo.Errorf(coleo.ETimeout, "ask the holder to %s: it does not answer", op)
	}
	return coleo.Errorf(coleo.EUnavailable, "ask the holder to %s: %w", op, err)
}

// ask sends a request over a connection on which every earlier request was answered.
// Otherwise a late answer could be taken for the next one.
func (c *Client) ask(q request, timeout time.Duration) (response, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	conn, err := c.connected()
	if err != nil {
		return response{}, err
	}
	return c.askOver(conn, q, timeout)
}

// askOver is ask over a given connection. The caller holds asking.
func (c *Client) askOver(conn net.Conn, q request, timeout time.Duration) (response, error) {
	r, err := ask(conn, q, timeout)
	if err != nil && r.Error == nil {
		conn.Close()
		c.setConn(nil)
	}
	return r, err
}

// connected returns the connection. It makes a new one if there is none. The caller holds
// asking.
func (c *Client) connected() (net.Conn, error) {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, err := connect(c.dir, c.nonce)
	if err != nil {
		return nil, err
	}
	if !c.setConn(conn) {
		conn.Close()
		return nil, unanswered("continue", net.ErrClosed)
	}
	return conn, nil
}

// setConn sets the connection, unless the client has been closed.
func (c *Client) setConn(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.conn = conn
	}
	return !c.closed
}

// Status returns the holder's status. The error is EUnavailable when the holder has gone,
// and ETimeout when it does not answer.
func (c *Client) Status() (Status, error) {
	r, err := c.ask(request{Op: askStatus}, answerTimeout)
	if err != nil {
		return Status{}, err
	}
	return *r.Status, nil
}

// Proves asks the holder, over the existing connection, whether it keeps the process that
// a handle names. blocked is what keeps the arm from continuing, "" for nothing. The error
// is EBusy while another request waits for its answer, and EUnavailable without a
// connection. It is EUnproven when the handle names another start or other processes.
func (c *Client) Proves(h coleo.Handle) (blocked string, err error) {
	if !c.asking.TryLock() {
		return "", coleo.Errorf(coleo.EBusy, "the holder is busy with another request")
	}
	defer c.asking.Unlock()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return "", coleo.Errorf(coleo.EUnavailable, "there is no connection to the holder in %s", c.dir)
	}
	r, err := c.askOver(conn, request{Op: askStatus}, answerTimeout)
	if err != nil {
		return "", err
	}
	return r.Status.Blocked, r.Status.proves(h)
}

// proves refuses a handle that names another start, or other processes.
func (s *Status) proves(h coleo.Handle) error {
	if s.Nonce != h.Nonce || s.Arm != h.Arm || s.Generation != h.Generation || s.Holder != h.Holder ||
		s.Process != h.Process {
		return coleo.Errorf(coleo.EUnproven,
			"the holder keeps start %d of arm %s, with other processes than the handle names", s.Generation, s.Arm)
	}
	return nil
}

// Write types bytes. A conditional write that is refused is not an error: see Wrote. When
// the holder does not answer in time, it will not type the bytes later either, unless it
// is older than such bounds. A caller may set a shorter bound with TypeWithin.
//
// The error is EExited after the program ended, and ETimeout for a write that comes too
// late. It is EConflict when the program does not take all bytes in time. It is EUnproven
// when a needed permit has lapsed.
func (c *Client) Write(w Write) (Wrote, error) {
	w.TypeWithin(answerTimeout)
	r, err := c.ask(request{Op: askWrite, Write: &w}, answerTimeout+typingTime(len(w.Data)))
	if err != nil {
		return Wrote{}, err
	}
	return *r.Wrote, nil
}

// Resize sets the size of the terminal, in cells. The error is EInvalid for a size
// outside 1 to 10000, and EConflict when the terminal cannot be resized.
func (c *Client) Resize(cols, rows int) error {
	_, err := c.ask(request{Op: askResize, Cols: cols, Rows: rows}, answerTimeout)
	return err
}

// Covered reports to the holder that a snapshot of the screen replaces all output before
// an offset, in bytes. The holder may delete that output as far as the journal exceeds
// its bound. The error is EInvalid for an offset after the end of the journal. It is
// EUnsupported from a holder that is older than this request, which keeps all output.
func (c *Client) Covered(offset int64) error {
	_, err := c.ask(request{Op: askCovered, From: offset}, answerTimeout)
	return err
}

// Pace bounds how much output the holder reads, in bytes per second, until the host
// agent's stream ends. 0 lifts the bound. The kernel blocks a program that writes more.
// The error is EInvalid for a negative rate. It is EUnsupported from a holder that is
// older than this request, which reads without that bound.
func (c *Client) Pace(rate int64) error {
	_, err := c.ask(request{Op: askPace, Rate: rate}, answerTimeout)
	return err
}

// Signal sends a signal to the program. The error is EConflict when it cannot be sent.
func (c *Client) Signal(s syscall.Signal) error {
	_, err := c.ask(request{Op: askSignal, Signal: int(s)}, answerTimeout)
	return err
}

// Stop ends the arm's whole process tree: with HUP and TERM, then with KILL for what is
// left after grace. It returns the pids that could not be ended.
func (c *Client) Stop(grace time.Duration) ([]int, error) {
	c.ending.Lock()
	defer c.ending.Unlock()
	r, err := c.ask(request{Op: askStop, Grace: grace}, grace+process.KillTimeout+answerTimeout)
	return r.Left, err
}

// End ends the process tree of this client's start of the arm. It uses Stop, or a sweep
// when the holder has already ended. It leaves another start of the arm alone, which may
// be newer. The error is EInternal when processes are left.
func (c *Client) End(arm string, grace time.Duration) error {
	left, err := c.Stop(grace)
	if coleo.ErrorCode(err) == coleo.EUnavailable {
		left, err = process.SweepStarts(arm, process.OfStart(c.nonce)), nil
	}
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return coleo.Errorf(coleo.EInternal, "processes %v of arm %s could not be ended", left, arm)
	}
	return nil
}

// Close closes the connection. The holder keeps running. Close waits for the answer to a
// Stop, because the holder sends it after the program's end and it names the processes
// that are left. A second call returns nil.
func (c *Client) Close() error {
	c.ending.Lock()
	defer c.ending.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.conn
	c.conn, c.closed = nil, true
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// Chunk is a piece of a stream: output from an offset on, or the program's end.
type Chunk struct {
	Offset int64
	Data   []byte
	Exit   *Exit
}

// streamBuffer is how much of a stream is read at once, in bytes: two frames.
const streamBuffer = 2 * streamChunk

// Stream is a connection over which output flows.
type Stream struct {
	conn net.Conn
	from *bufio.Reader
	stop func() bool
}

// Stream opens a connection of its own for a viewer, over which the holder sends the
// output from an offset on. It ends when ctx is cancelled. It returns the errors of Dial.
func (c *Client) Stream(ctx context.Context, from int64) (*Stream, error) {
	return c.stream(ctx, request{Op: askStream, From: from})
}

// Lead is Stream for the host agent. While the host agent reads, the holder takes in at
// most ahead bytes that the host agent has not read. The kernel blocks a program that
// writes more. With 0 the bound is the 64 MiB that may be unread when the host agent is
// gone. A holder older than this bound always uses 64 MiB. It returns the errors of Dial.
func (c *Client) Lead(ctx context.Context, from, ahead int64) (*Stream, error) {
	return c.stream(ctx, request{Op: askStream, From: from, Host: true, Ahead: ahead})
}

func (c *Client) stream(ctx context.Context, q request) (*Stream, error) {
	conn, err := connect(c.dir, c.nonce)
	if err != nil {
		return nil, err
	}
	if err := writeJSON(conn, frameRequest, q); err != nil {
		conn.Close()
		return nil, unanswered(askStream, err)
	}
	return &Stream{conn: conn, from: bufio.NewReaderSize(conn, streamBuffer), stop: context.AfterFunc(ctx, func() {
		conn.Close()
	})}, nil
}

// Next returns the next piece of the stream. It returns io.EOF after a piece with Exit,
// when the holder has gone, and when the stream's context is cancelled.
func (s *Stream) Next() (Chunk, error) {
	kind, payload, err := readFrame(s.from)
	if err != nil {
		return Chunk{}, io.EOF
	}
	switch {
	case kind == frameData && len(payload) >= 8:
		return Chunk{Offset: int64(binary.BigEndian.Uint64(payload)), Data: payload[8:]}, nil
	case kind == frameExit:
		var e Exit
		if err := json.Unmarshal(payload, &e); err != nil {
			return Chunk{}, fmt.Errorf("read the program's end: %w", err)
		}
		return Chunk{Offset: e.Offset, Exit: &e}, nil
	case kind == frameResponse:
		var r response
		if json.Unmarshal(payload, &r) == nil && r.Error != nil {
			return Chunk{}, r.Error
		}
	}
	return Chunk{}, fmt.Errorf("unexpected frame %q in a stream", kind)
}

// Close closes the stream's connection.
func (s *Stream) Close() error {
	s.stop()
	return s.conn.Close()
}

// Permit allows keys until a time on package boottime's clock. It only matters to a
// launch with NeedsPermit. The error is EInvalid for a permit longer than a minute, and
// EUnsupported from a holder that is older than this request.
func (c *Client) Permit(until time.Duration) error {
	_, err := c.ask(request{Op: askPermit, Permit: until}, answerTimeout)
	return err
}
