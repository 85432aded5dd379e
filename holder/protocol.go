package holder

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
)

// protocolVersion is the version of the protocol. It never changes: later versions of Coleo add
// requests instead, and a holder answers an unknown request with an error.
const protocolVersion = 1

// These are the types of frames. A frame has three parts: one byte for the type, four bytes for the
// length of the payload (big-endian), and the payload. The payload of a frameData is the journal
// offset in eight bytes (big-endian), and then raw output. The payload of all other frames is JSON.
const (
	frameRequest  byte = 'q'
	frameResponse byte = 'r'
	frameData     byte = 'd'
	frameExit     byte = 'x'
)

// maxFrame is the largest size of a frame's payload, in bytes. It is many times the size of a
// prompt of 100 kB in base64. A peer that announces a longer payload uses another protocol.
const maxFrame = 8 << 20

// These are the names of requests, which are the values of request.Op.
const (
	askHello  = "hello"
	askStatus = "status"
	askStream = "stream"
	askWrite  = "write"
	askResize = "resize"
	askSignal = "signal"
	askStop   = "stop"

	// Holders of old versions do not know these requests.
	askCovered = "covered"
	askPace    = "pace"
	askPermit  = "permit"
)

// request is a request of a client. Only the fields that the operation Op needs are set.
type request struct {
	Op      string `json:"op"`
	Version int    `json:"version,omitempty"` // for hello
	Nonce   string `json:"nonce,omitempty"`   // for hello
	From    int64  `json:"from,omitempty"`    // for stream and covered
	Host    bool   `json:"host,omitempty"`    // for a stream request: the client is the host agent: see Client.Lead
	// for stream, if Host is true: the limit for unread bytes; 0 means unreadLimit
	Ahead  int64         `json:"ahead,omitempty"`
	Write  *Write        `json:"write,omitempty"`
	Cols   int           `json:"cols,omitempty"`
	Rows   int           `json:"rows,omitempty"`
	Signal int           `json:"signal,omitempty"`
	Rate   int64         `json:"rate,omitempty"`   // for a pace request: the limit for reading output, in bytes per second
	Grace  time.Duration `json:"grace,omitempty"`  // for a stop request: the time between TERM and KILL
	Permit time.Duration `json:"permit,omitempty"` // for a permit request: the end of the permit, on boottime's clock
}

// response is the answer to a request. If the request failed, Error is set. Otherwise the fields
// that the request's Op needs are set.
type response struct {
	Error  *coleo.Error `json:"error,omitempty"`
	Status *Status      `json:"status,omitempty"`
	Wrote  *Wrote       `json:"wrote,omitempty"`
	Left   []int        `json:"left,omitempty"` // for a stop request: pids of processes of the arm that could not be ended
}

// WriteKind says where typed bytes come from.
type WriteKind string

// The values of WriteKind.
const (
	WriteReply WriteKind = "reply" // the terminal's reply to a query of the program
	WriteKeys  WriteKind = "keys"  // keys of a person, or of Coleo in a person's place
)

// Write is a request to type bytes into the program's terminal. If a client repeats a Write with
// the same ID, the holder does not type the bytes again.
type Write struct {
	ID         string    `json:"write_id"`
	Kind       WriteKind `json:"kind"`
	SeenOffset int64     `json:"seen_offset"`              // end of the output that the client has seen
	OnlyIfEnd  bool      `json:"only_if_end_at,omitempty"` // type nothing if there is output after SeenOffset
	Until      int64     `json:"until,omitempty"`          // type nothing after this Unix time, in ms; 0: no limit
	// UntilBoot is a limit like Until, but in milliseconds on the clock of package boottime. If
	// UntilBoot is set, the holder ignores Until. Holders of old versions do not know UntilBoot.
	UntilBoot int64  `json:"until_boot,omitempty"`
	Data      []byte `json:"data"`
}

// TypeWithin gives the write a time limit: the holder refuses the write after timeLeft from now. If
// the write already has an earlier limit, TypeWithin changes nothing.
func (w *Write) TypeWithin(timeLeft time.Duration) {
	if end := (boottime.Now() + timeLeft).Milliseconds(); w.UntilBoot == 0 || end < w.UntilBoot {
		w.UntilBoot, w.Until = max(end, 1), time.Now().Add(timeLeft).UnixMilli()
	}
}

// overdue returns how much time has passed since the time limit of the write. It returns 0 before
// the limit, or if there is no limit.
func (w *Write) overdue() time.Duration {
	switch {
	case w.UntilBoot != 0:
		return max(0, boottime.Now()-time.Duration(w.UntilBoot)*time.Millisecond)
	case w.Until != 0:
		return max(0, time.Since(time.UnixMilli(w.Until)))
	}
	return 0
}

// Wrote is the outcome of a Write.
type Wrote struct {
	Applied   bool  `json:"applied"`
	Duplicate bool  `json:"duplicate,omitempty"` // nothing was typed, because a write with this ID was applied earlier
	End       int64 `json:"end"`                 // end of the journal when the holder decided about the write
}

// Exit records how the program ended.
type Exit struct {
	Code   int       `json:"code"` // -1 if a signal ended the program
	Signal int       `json:"signal,omitempty"`
	Time   time.Time `json:"time"`
	Offset int64     `json:"offset"`           // offset after the last byte of output
	Reason string    `json:"reason,omitempty"` // why it is unknown how the program ended; "" if it is known
	// Terminated means that the holder received SIGTERM before the program ended, for example because
	// the machine shut down. Ordered means that a client ordered the end before the program ended.
	Terminated bool `json:"terminated,omitempty"`
	Ordered    bool `json:"ordered,omitempty"`
}

// shellSignal is the difference between a signal's number and the exit code of a program that ends
// because of this signal. Shells have this convention.
const shellSignal = 128

// Rule returns the name of the rule that says how the program ended:
//
//   - coleo.RuleHolderGone: nobody has seen the end, because the holder died first.
//   - coleo.RuleTerminated: somebody other than Coleo ended the program.
//   - coleo.RuleProcess: all other ends.
func (e Exit) Rule() string {
	switch {
	case e.Reason != "":
		return coleo.RuleHolderGone
	case e.fromOutside():
		return coleo.RuleTerminated
	}
	return coleo.RuleProcess
}

// fromOutside reports whether somebody other than Coleo has ended the program. For example, a
// shutdown of the machine sends SIGTERM to the program and to the holder. If the holder has
// received SIGTERM, the exit code does not matter, because a program can handle SIGTERM and end
// with any code. fromOutside returns false for a program that has crashed.
func (e Exit) fromOutside() bool {
	if e.Ordered {
		return false
	}
	number := e.Signal
	if number == 0 {
		number = e.Code - shellSignal
	}
	sent := []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL}
	return e.Terminated || slices.Contains(sent, syscall.Signal(number))
}

// String describes in words how the program ended.
func (e Exit) String() string {
	if e.Reason != "" {
		return e.Reason
	}
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %d", e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Status is what a holder reports about itself.
type Status struct {
	Version    int            `json:"version"`
	Arm        string         `json:"arm"`
	Generation int            `json:"generation"`
	Nonce      string         `json:"nonce"`
	Holder     coleo.Identity `json:"holder"`
	Process    coleo.Identity `json:"process"`
	Cols       int            `json:"cols"`
	Rows       int            `json:"rows"`
	Start      int64          `json:"start"`    // offset of the oldest byte in the journal
	End        int64          `json:"end"`      // offset after the newest byte in the journal
	Answered   int64          `json:"answered"` // all queries in the output before this offset have been answered
	Blocked    string         `json:"blocked,omitempty"`
	Exit       *Exit          `json:"exit,omitempty"`
}

// dataHead is the number of bytes before the output in a frameData: the type, the length and the
// offset.
const dataHead = 1 + 4 + 8

// dataFrame writes the type, the length and the given offset into the first dataHead bytes of the
// frame, and returns the frame. The caller has already put the output behind these bytes.
func dataFrame(frame []byte, from int64) []byte {
	frame[0] = frameData
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-5))
	binary.BigEndian.PutUint64(frame[5:], uint64(from))
	return frame
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	head := make([]byte, 5, 5+len(payload))
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	_, err := w.Write(append(head, payload...))
	return err
}

func writeJSON(w io.Writer, kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, payload)
}

func readFrame(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n, err := frameLength(head)
	if err != nil {
		return 0, nil, err
	}
	payload := make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}

// frameLength returns the length of a frame's payload. The head contains the frame's type and this
// length.
func frameLength(head [5]byte) (int, error) {
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, fmt.Errorf("frame %q of %d bytes exceeds the limit of %d", head[0], n, maxFrame)
	}
	return int(n), nil
}
