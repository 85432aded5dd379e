package holder

import (
	"encoding/json"
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev"
	"coleo.dev/holder/journal"
	"coleo.dev/holder/socket"
)

// streamChunk is the largest number of bytes of output in one frame. A stream keeps one buffer of
// this size.
const streamChunk = 16 << 10

const (
	// typeTimeout is how long the holder waits for a program that does not read typed bytes.
	typeTimeout = 5 * time.Second
	// pasteTimeout replaces typeTimeout if more than terminalBuffer bytes are typed, as in a paste.
	// It is longer, because a program can stall while it handles an earlier paste. If the holder
	// cut off a paste, the program would wait for the end of the paste and ignore all other keys.
	pasteTimeout = 30 * time.Second
	// terminalBuffer is how many bytes of input the kernel's terminal holds while the program does
	// not read.
	terminalBuffer = 4 << 10
)

// typingTime returns how long the holder may take to type n bytes.
func typingTime(n int) time.Duration {
	if n > terminalBuffer {
		return pasteTimeout
	}
	return typeTimeout
}

// answerRequests answers the requests of one connection until the connection ends. The first
// request must be askHello.
func (s *server) answerRequests(conn io.ReadWriteCloser) {
	defer conn.Close()
	if err := socket.Admit(conn); err != nil {
		_ = writeJSON(conn, frameResponse, response{Error: asError(err)})
		return
	}
	f := newFrameReader(conn)
	greeted, shown := false, ""
	for {
		kind, payload, err := f.next()
		if err != nil {
			return
		}
		s.memory.ReleaseSoon()
		if greeted && shown == s.launch.Nonce && kind == frameRequest {
			if w := f.parseWrite(payload); w != nil {
				if s.answerWrite(f, s.write(w)) != nil {
					return
				}
				continue
			}
		}
		var q request
		if kind != frameRequest || json.Unmarshal(payload, &q) != nil {
			_ = writeJSON(conn, frameResponse, refuse(coleo.EInvalid, "unreadable request"))
			return
		}
		if !greeted {
			r := s.greet(q)
			if writeJSON(conn, frameResponse, r) != nil || r.Error != nil {
				return
			}
			greeted, shown = true, q.Nonce
			continue
		}
		if q.Nonce = shown; !s.mayAsk(q) {
			if writeJSON(conn, frameResponse, refuse(coleo.EUnproven,
				"%s needs the nonce of arm %s: nothing was done", q.Op, s.launch.Arm)) != nil {
				return
			}
			continue
		}
		if q.Op == askStream {
			s.stream(conn, q)
			return
		}
		if writeJSON(conn, frameResponse, s.answer(q)) != nil {
			return
		}
	}
}

// answerWrite sends the answer r to a write.
func (s *server) answerWrite(f *frameReader, r response) error {
	if r.Error != nil {
		return writeJSON(f.conn, frameResponse, r)
	}
	return f.answerWrite(r.Wrote)
}

func refuse(code coleo.Code, format string, args ...any) response {
	return response{Error: coleo.Errorf(code, format, args...)}
}

func (s *server) greet(q request) response {
	switch {
	case q.Op != askHello:
		return refuse(coleo.EInvalid, "the first request must be hello, not %q", q.Op)
	case q.Version != protocolVersion:
		return refuse(coleo.EUnsupported, "this holder speaks version %d of the protocol, not %d", protocolVersion,
			q.Version)
	case q.Nonce != "" && q.Nonce != s.launch.Nonce:
		return refuse(coleo.EUnproven, "this holder keeps another generation of arm %s", s.launch.Arm)
	}
	status := s.statusFor(q.Nonce)
	return response{Status: &status}
}

// statusFor returns the status for a client that has shown the given nonce. If the nonce is wrong,
// the status does not contain the holder's nonce.
func (s *server) statusFor(nonce string) Status {
	status := s.status()
	if nonce != s.launch.Nonce {
		status.Nonce = ""
	}
	return status
}

// mayAsk reports whether the holder answers the request q. q.Nonce is the nonce that the client has
// shown with askHello. A client with a wrong nonce may only ask for the status. If a person runs
// the holder, every request is allowed.
func (s *server) mayAsk(q request) bool {
	return q.Nonce == s.launch.Nonce || s.launch.Alone || q.Op == askStatus
}

func (s *server) answer(q request) response {
	switch q.Op {
	case askStatus:
		status := s.statusFor(q.Nonce)
		return response{Status: &status}
	case askWrite:
		return s.write(q.Write)
	case askResize:
		return s.resize(q.Cols, q.Rows)
	case askSignal:
		if err := s.term.Signal(syscall.Signal(q.Signal)); err != nil {
			return refuse(coleo.EConflict, "signal the program: %w", err)
		}
		return response{}
	case askCovered:
		return s.setCovered(q.From)
	case askPace:
		if q.Rate < 0 {
			return refuse(coleo.EInvalid, "a pace of %d bytes a second is negative", q.Rate)
		}
		s.pace.Store(q.Rate)
		return response{}
	case askPermit:
		return s.permit(q.Permit)
	case askStop:
		s.stop(stopOrdered)
		left := s.tree.End(q.Grace)
		if len(left) == 0 {
			<-s.exited
		}
		return response{Left: left}
	}
	return refuse(coleo.EUnsupported, "unknown request %q", q.Op)
}

func (s *server) resize(cols, rows int) response {
	if cols < 1 || rows < 1 || cols > 10_000 || rows > 10_000 {
		return refuse(coleo.EInvalid, "a terminal cannot have %d x %d cells", cols, rows)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.term.Resize(cols, rows); err != nil {
		return refuse(coleo.EConflict, "resize the terminal: %w", err)
	}
	s.cols, s.rows = cols, rows
	s.journal.Mark(journal.Mark{Time: time.Now(), Kind: journal.MarkResize, Cols: cols, Rows: rows})
	return response{}
}

// write types the bytes of w. If it has already typed a write with the same id, it types nothing.
// If w.OnlyIfEnd is set, write first looks in the journal and in the pseudo-terminal for output
// that the client has not seen. If it finds such output, it types nothing.
//
// If the program does not take all bytes at once, write types the rest without holding mu. There
// are two reasons: a program sometimes has to write output before it reads, and the holder must
// answer other clients meanwhile. If w is the terminal's reply to a query of the program, write
// drops the rest instead, because the program does not read.
func (s *server) write(w *Write) response {
	if w == nil || w.ID == "" {
		return refuse(coleo.EInvalid, "a write needs an id")
	}
	s.typing.Lock()
	defer s.typing.Unlock()
	n, left, r := s.beginWrite(w)
	if r.Error != nil || !r.Wrote.Applied || w.Kind == WriteReply || n == len(w.Data) {
		return r
	}
	_ = s.term.SetWriteDeadline(time.Now().Add(min(left, typingTime(len(w.Data)))))
	if more, err := s.term.Write(w.Data[n:]); err != nil {
		return refuse(coleo.EConflict, "the program took only %d of %d bytes: %w", n+more, len(w.Data), err)
	}
	return r
}

// beginWrite decides whether to type w. If so, it types as many bytes as the program takes without
// waiting. `n` is the number of these bytes. For keys, `left` is how much longer the permit allows
// keys.
func (s *server) beginWrite(w *Write) (n int, left time.Duration, r response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.journal.End()
	if s.doneWrites[w.ID] {
		return 0, 0, response{Wrote: &Wrote{Duplicate: true, End: end}}
	}
	if s.exit != nil {
		return 0, 0, refuse(coleo.EExited, "the program has ended: %s", s.exit)
	}
	if late := w.overdue(); late > 0 {
		return 0, 0, refuse(coleo.ETimeout, "not typed: the order arrived %s after its deadline",
			late.Round(time.Millisecond))
	}
	if w.Kind != WriteReply {
		var lapsed *coleo.Error
		if left, lapsed = s.permitLeft(); lapsed != nil {
			return 0, 0, response{Error: lapsed}
		}
	}
	if w.OnlyIfEnd && (end != w.SeenOffset || s.intake.unjournaledBytes() > 0 || s.term.Readable()) {
		return 0, 0, response{Wrote: &Wrote{End: end}}
	}
	s.rememberWrite(w.ID)
	n, err := s.typeNow(w.Data)
	if err != nil {
		return n, 0, refuse(coleo.EConflict, "type into the terminal: %w", err)
	}
	s.takeEcho()
	switch w.Kind {
	case WriteReply:
		s.answered = max(s.answered, w.SeenOffset)
	case WriteKeys:
		s.journal.Mark(journal.Mark{Time: time.Now(), Kind: journal.MarkInput})
	}
	return n, left, response{Wrote: &Wrote{Applied: true, End: end}}
}

// typeNow types as many bytes as the terminal takes without waiting, and returns their number.
func (s *server) typeNow(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	failed := s.term.Control(func(master int) { n, err = unix.Write(master, p) })
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return max(n, 0), errors.Join(err, failed)
}

// takeEcho moves the output that typed keys have already caused, such as their echo, to the
// journal. Otherwise this output would wait until the kernel wakes the draining goroutine. If the
// disk is full, takeEcho does not wait for free space.
func (s *server) takeEcho() {
	if s.intake.unjournaledBytes() > 0 || !s.launch.Alone && s.journal.End()-s.hostRead >= s.leadBound() {
		return
	}
	_ = s.term.Control(func(master int) {
		n, _ := s.intake.take(master)
		if n > 0 && s.intake.flush(s.journal, time.Now()) != nil {
			go func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.journalIntake()
			}()
		}
	})
}

func (s *server) rememberWrite(id string) {
	s.doneWrites[id] = true
	s.doneOrder = append(s.doneOrder, id)
	if len(s.doneOrder) > rememberedWrites {
		delete(s.doneWrites, s.doneOrder[0])
		s.doneOrder = s.doneOrder[1:]
	}
}

// stream sends output to a client, beginning at the offset q.From. It returns when the client
// disconnects, or when the program has ended and all its output has been sent.
func (s *server) stream(conn io.ReadWriteCloser, q request) {
	disconnected := make(chan struct{})
	go func() { defer close(disconnected); _, _ = io.Copy(io.Discard, conn) }()
	reader := journal.NewReader(JournalDir(s.launch.Dir), q.From)
	defer reader.Close()
	if q.Host {
		s.setLead(q.Ahead)
		defer s.pace.Store(0)
		defer s.setLead(0)
	}
	grown := s.journal.Watch()
	defer s.journal.Unwatch(grown)
	frame := make([]byte, dataHead+streamChunk) // one buffer for all frames, to avoid garbage
	for {
		exited := s.hasExited()
		from := reader.Offset()
		n, err := reader.Read(frame[dataHead:])
		switch {
		case n > 0:
			if _, err := conn.Write(dataFrame(frame[:dataHead+n], from)); err != nil {
				return
			}
			if q.Host {
				s.advance(reader.Offset())
			}
			continue
		case !errors.Is(err, io.EOF):
			_ = writeJSON(conn, frameResponse, refuse(coleo.EInvalid, "%w", err))
			return
		case exited:
			_ = writeJSON(conn, frameExit, s.exit)
			return
		}
		select {
		case <-grown:
		case <-s.exited:
		case <-disconnected:
			return
		}
	}
}

func (s *server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}
