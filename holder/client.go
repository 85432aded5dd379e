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

// answerTimeout is how long a client waits for the answer to any request except stop. A holder
// needs at most one system call for such an answer, so only a stopped holder or a hanging disk
// takes that long.
const answerTimeout = 10 * time.Second

// Client is a connection to one holder. The holder handles the client's requests one after another.
// Several goroutines can call the methods at the same time. The methods return EUnavailable if the
// holder has ended, and ETimeout if the holder does not answer.
type Client struct {
	dir   string
	nonce string

	asking sync.Mutex // held while a request waits for its answer; locked before mu
	ending sync.Mutex // held while a Stop waits for its answer; locked before asking

	mu     sync.Mutex
	conn   net.Conn // nil if there is no connection
	closed bool
}

// Dial connects to the holder in the folder dir. `nonce` is the secret of the start of the arm that
// the caller expects. If it is "", the holder answers only Status, except a holder that a person
// runs (see Hold), which answers every request. Dial can return these errors:
//
//   - EUnproven: the holder was started with another nonce.
//   - EForbidden: the calling process belongs to an arm.
//   - EUnavailable: no holder listens in dir.
//   - ETimeout: the holder does not answer, because it is stopped or its disk hangs.
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

// checkSender compares the process at the other end of the connection with `named`, the holder that
// the answer names. If they differ, the error is EUnproven.
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
		return response{}, unansweredError(q.Op, err)
	}
	kind, payload, err := readFrame(conn)
	if err != nil {
		return response{}, unansweredError(q.Op, err)
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

func unansweredError(op string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return coleo.Errorf(coleo.ETimeout, "ask the holder to %s: it does not answer", op)
	}
	return coleo.Errorf(coleo.EUnavailable, "ask the holder to %s: %w", op, err)
}

// ask sends a request and returns the answer. If an earlier request on a connection is unanswered,
// ask uses a new connection. On the old one, it could mistake the late answer for the answer to the
// new request.
func (c *Client) ask(q request, timeout time.Duration) (response, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	conn, err := c.connection()
	if err != nil {
		return response{}, err
	}
	return c.askOver(conn, q, timeout)
}

// askOver does the same as ask, on the given connection. The caller must hold the lock c.asking.
func (c *Client) askOver(conn net.Conn, q request, timeout time.Duration) (response, error) {
	r, err := ask(conn, q, timeout)
	if err != nil && r.Error == nil {
		conn.Close()
		c.setConn(nil)
	}
	return r, err
}

// connection returns the client's connection. If there is none, it connects again. The caller must
// hold the lock c.asking.
func (c *Client) connection() (net.Conn, error) {
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
		return nil, unansweredError("continue", net.ErrClosed)
	}
	return conn, nil
}

// setConn sets the client's connection. If the client has been closed, setConn does nothing and
// returns false.
func (c *Client) setConn(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.conn = conn
	}
	return !c.closed
}

// Status returns the holder's status. The error is EUnavailable if the holder has
// ended. It is ETimeout if the holder does not answer.
func (c *Client) Status() (Status, error) {
	r, err := c.ask(request{Op: askStatus}, answerTimeout)
	if err != nil {
		return Status{}, err
	}
	return *r.Status, nil
}

// Proves asks the holder whether it runs exactly the start of the arm and the processes that the
// handle names. It uses only the existing connection. `blocked` says why the arm cannot continue,
// for example because the disk is full. It is "" if the arm can continue. Proves can return these
// errors:
//
//   - EUnproven: the holder runs another start of the arm, or other processes.
//   - EBusy: another request waits for its answer.
//   - EUnavailable: there is no connection.
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
	return r.Status.Blocked, r.Status.checkProves(h)
}

// checkProves returns EUnproven if the handle and the status name different starts of the arm, or
// different processes.
func (s *Status) checkProves(h coleo.Handle) error {
	if s.Nonce != h.Nonce || s.Arm != h.Arm || s.Generation != h.Generation || s.Holder != h.Holder ||
		s.Process != h.Process {
		return coleo.Errorf(coleo.EUnproven,
			"the holder keeps start %d of arm %s, with other processes than the handle names", s.Generation, s.Arm)
	}
	return nil
}

// Write types bytes into the program's terminal. If w.OnlyIfEnd is set and there is newer output,
// the holder types nothing, and the error is nil: see Wrote.
//
// The holder begins to type within 10 s or never. A caller that wants a shorter limit calls
// TypeWithin first. A holder of an old version does not know limits, so it can still type the bytes
// after Write has returned ETimeout. Write can return these errors:
//
//   - EExited: the program has ended.
//   - ETimeout: the write reached the holder too late, or the holder does not answer.
//   - EConflict: the program does not take all bytes in time.
//   - EUnproven: the write needs a permit and the permit has ended.
func (c *Client) Write(w Write) (Wrote, error) {
	w.TypeWithin(answerTimeout)
	r, err := c.ask(request{Op: askWrite, Write: &w}, answerTimeout+typingTime(len(w.Data)))
	if err != nil {
		return Wrote{}, err
	}
	return *r.Wrote, nil
}

// Resize sets the size of the terminal in cells. The error is EInvalid if cols or rows
// is outside the range from 1 to 10000. It is EConflict if the terminal cannot be
// resized.
func (c *Client) Resize(cols, rows int) error {
	_, err := c.ask(request{Op: askResize, Cols: cols, Rows: rows}, answerTimeout)
	return err
}

// Covered reports to the holder that a snapshot of the screen replaces all output before the given
// offset, in bytes. The holder deletes such output when the journal exceeds its limit. The error is
// EInvalid if the offset is after the end of the journal. It is EUnsupported if the holder's
// version does not know this request. Such a holder keeps all output.
func (c *Client) Covered(offset int64) error {
	_, err := c.ask(request{Op: askCovered, From: offset}, answerTimeout)
	return err
}

// Pace limits the rate at which the holder reads output, in bytes per second. If the program writes
// faster, the kernel blocks the program. The limit applies until the host agent's stream ends. A
// rate of 0 removes the limit. The error is EInvalid if the rate is negative. It is EUnsupported if
// the holder's version does not know this request. Such a holder reads without a limit.
func (c *Client) Pace(rate int64) error {
	_, err := c.ask(request{Op: askPace, Rate: rate}, answerTimeout)
	return err
}

// Signal sends a signal to the program. The error is EConflict if the signal cannot be
// sent.
func (c *Client) Signal(s syscall.Signal) error {
	_, err := c.ask(request{Op: askSignal, Signal: int(s)}, answerTimeout)
	return err
}

// Stop ends the arm's whole process tree. It sends HUP and TERM. After the grace period, it sends
// KILL to the processes that still run. It returns the pids of the processes that have survived
// even that.
func (c *Client) Stop(grace time.Duration) ([]int, error) {
	c.ending.Lock()
	defer c.ending.Unlock()
	r, err := c.ask(request{Op: askStop, Grace: grace}, grace+process.KillTimeout+answerTimeout)
	return r.Left, err
}

// End ends all processes of one start of the arm: the start with this client's nonce. It asks the
// holder with Stop. If the holder has already ended, End itself searches for processes that this
// start has left behind, and ends them. It does not touch other starts of the arm, which can be
// newer. The error is EInternal if processes are left.
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

// Close closes the connection. The holder keeps running. If a Stop waits for its answer, Close
// waits too, because the answer names the processes that are left. A second call returns nil.
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

// Chunk is a piece of a stream: output that begins at Offset, or the end of the program in Exit.
type Chunk struct {
	Offset int64
	Data   []byte
	Exit   *Exit
}

// streamBuffer is the size in bytes of the buffer for reading a stream: two frames.
const streamBuffer = 2 * streamChunk

// Stream is a connection on which the holder sends an arm's output.
type Stream struct {
	conn net.Conn
	from *bufio.Reader
	stop func() bool
}

// Stream opens another connection for a viewer. On it, the holder sends the output from the given
// offset on. The stream ends when ctx is canceled. The errors are those of Dial.
func (c *Client) Stream(ctx context.Context, from int64) (*Stream, error) {
	return c.stream(ctx, request{Op: askStream, From: from})
}

// Lead opens a stream like Stream, but for the host agent. If the host agent leaves maxUnread
// bytes of output unread, the holder stops reading the terminal. The kernel then blocks a program
// that writes. If maxUnread is 0, the limit is 64 MiB. A holder of an old version always uses 64
// MiB. The errors are those of Dial.
func (c *Client) Lead(ctx context.Context, from, maxUnread int64) (*Stream, error) {
	return c.stream(ctx, request{Op: askStream, From: from, Host: true, Ahead: maxUnread})
}

func (c *Client) stream(ctx context.Context, q request) (*Stream, error) {
	conn, err := connect(c.dir, c.nonce)
	if err != nil {
		return nil, err
	}
	if err := writeJSON(conn, frameRequest, q); err != nil {
		conn.Close()
		return nil, unansweredError(askStream, err)
	}
	return &Stream{conn: conn, from: bufio.NewReaderSize(conn, streamBuffer), stop: context.AfterFunc(ctx, func() {
		conn.Close()
	})}, nil
}

// Next returns the next piece of the stream. It returns io.EOF after a piece with Exit. It also
// returns io.EOF if the connection ends: because the holder has ended, ctx was canceled, or an
// error occurred. If the holder refuses the stream, Next returns the holder's error.
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

// Permit allows the holder to type keys until the given time on package boottime's clock. Only a
// holder whose launch has set NeedsPermit needs a permit. The error is EInvalid if the permit is
// longer than a minute. It is EUnsupported if the holder's version does not know this request.
func (c *Client) Permit(until time.Duration) error {
	_, err := c.ask(request{Op: askPermit, Permit: until}, answerTimeout)
	return err
}
