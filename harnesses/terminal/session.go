package terminal

import (
	"context"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/holder"
)

const (
	// stopGrace is the time between the hang-up signal and KILL. Agent CLIs save their
	// state within a second.
	stopGrace = 2 * time.Second
	// historyRows is how many rows that scrolled off are searched for an answer.
	historyRows = 2000
)

// session is one live agent CLI on a terminal.
type session struct {
	h      *Harness
	facts  Facts
	client *holder.Client
	ctx    context.Context // cancelled by Close
	cancel context.CancelFunc
	done   chan struct{} // closed when the read loop has ended
	log    *Changes
	keeper keeper
	pace   pace

	described atomic.Pointer[Spec] // the Spec by which the screen is read and typed into
	reread    chan struct{}        // wakes the read loop after a new Spec

	typing sync.Mutex // one writer at a time
	unseen string     // last typed text that was not seen to arrive, "" for none; guarded by typing
	torn   bool       // only the beginning of unseen was typed; guarded by typing

	mu     sync.Mutex
	handle coleo.Handle
	*reader
	ear    *listener
	output time.Time // when the agent CLI last wrote while the session was open
	sizes  resizing
	owed   []owed        // answers to queries that the holder has not confirmed
	looked chan struct{} // closed and replaced at each look
}

var (
	_ coleo.Session   = (*session)(nil)
	_ coleo.Terminal  = (*session)(nil)
	_ coleo.Explainer = (*session)(nil)
	_ coleo.Talker    = (*session)(nil)
	_ coleo.Held      = (*session)(nil)
	_ coleo.Compactor = (*session)(nil)
	_ coleo.Reloader  = (*session)(nil)

	_ coleo.UsageMeter = (*session)(nil)
)

// open builds a session on a holder and brings its screen up to date.
func (h *Harness) open(handle coleo.Handle, facts Facts, at holder.Status, fresh bool) (*session, error) {
	client, err := holder.Dial(handle.Dir, handle.Nonce)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		h: h, facts: facts, handle: handle, client: client, ctx: ctx, cancel: cancel,
		done: make(chan struct{}), reread: make(chan struct{}, 1), log: NewChanges(), looked: make(chan struct{}),
		keeper: keeper{snapshots: snapshotsOf(handle)},
	}
	s.described.Store(h.spec)
	replay := s.rebuild(at)
	s.fresh = fresh
	stream, err := client.Lead(ctx, s.end, floodAhead)
	if err != nil {
		cancel()
		client.Close()
		return nil, err
	}
	s.ear = newListener(h.spec, handle.Dir)
	go s.follow(stream, replay)
	return s, nil
}

// changed records a change that the reader reports.
func (s *session) changed(c coleo.Change) {
	s.log.Add(c)
	if c.Kind == coleo.ChangeState && c.Reading.State == coleo.Idle && c.From != coleo.Initializing {
		go s.findConversation()
	}
}

// Handle returns the data by which Attach finds this session again.
func (s *session) Handle() coleo.Handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handle
}

// State returns the last reading.
func (s *session) State() coleo.Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// Changes yields the changes after a cursor, and then each new one. It ends when ctx is
// cancelled or the session ends.
func (s *session) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return s.log.Follow(ctx, from)
}

// Screen returns what the terminal shows.
func (s *session) Screen() coleo.Screen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.View()
}

// LastOutput returns when the agent CLI last wrote something while the session was open,
// the zero time if it has not.
func (s *session) LastOutput() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output
}

// Explain returns the evidence behind the reading.
func (s *session) Explain() coleo.Explanation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.explain(time.Now())
}

// Output returns a reader of the terminal's output from an offset on, in bytes. It
// continues with live output. It ends with io.EOF when the program ends, the holder goes
// or ctx is cancelled.
func (s *session) Output(ctx context.Context, from int64) (io.ReadCloser, error) {
	stream, err := s.client.Stream(ctx, from)
	if err != nil {
		return nil, err
	}
	return &outputReader{stream: stream}, nil
}

// Held asks the session's holder whether it is the one in the handle. It returns the
// errors of holder.Client.Proves.
func (s *session) Held() (blocked string, err error) { return s.client.Proves(s.Handle()) }

// Input sends bytes to the program as keys, whatever the screen shows. It returns an
// error when the holder cannot be reached, or when ctx no longer wants the keys.
func (s *session) Input(ctx context.Context, p []byte) error {
	_, err := s.write(ctx, holder.Write{ID: newUUID(), Kind: holder.WriteKeys, Data: p})
	return err
}

// Kill ends the whole process tree and returns when the read loop has ended. Processes
// get 2 s between the hang-up signal and KILL. Kill ignores its context. It returns the
// errors of holder.Client.End, such as EInternal when processes are left.
func (s *session) Kill(context.Context) error {
	if err := s.client.End(s.Handle().Arm, stopGrace); err != nil {
		return err
	}
	<-s.done
	return nil
}

// Close ends the session and leaves the agent CLI running. If the agent CLI has ended,
// Close first waits for a call that is typing. It writes a last snapshot and returns the
// error of closing the connection to the holder.
func (s *session) Close() error {
	s.settleSize()
	s.cancel()
	if s.State().State == coleo.Dead {
		s.typing.Lock()
		defer s.typing.Unlock()
	}
	s.lastSnapshot()
	err := s.client.Close()
	<-s.done
	return err
}

// follow is the read loop. Only this loop writes output to the screen.
func (s *session) follow(stream *holder.Stream, r replay) {
	defer close(s.done)
	defer s.log.End()
	defer s.ear.close()
	defer s.h.floods.leave(&s.pace)
	chunks := make(chan holder.Chunk, 16)
	go func() {
		defer close(chunks)
		for {
			chunk, err := stream.Next()
			if err != nil {
				return
			}
			select {
			case chunks <- chunk:
			case <-s.ctx.Done():
				return
			}
		}
	}()
	s.readChunks(chunks, r)
}

func (s *session) readChunks(chunks <-chan holder.Chunk, r replay) {
	timer := time.NewTimer(s.firstLook())
	defer timer.Stop()
	for {
		select {
		case chunk, ok := <-chunks:
			switch {
			case !ok:
				s.lostHolder()
				return
			case chunk.Exit != nil:
				s.ended(chunk.Exit.Code, chunk.Exit.String())
				return
			}
			if s.feed(chunk.Data, &r); r.behind(s.end) {
				continue
			}
			s.keepPace(len(chunk.Data), time.Now())
			timer.Reset(s.look(time.Now()))
		case <-s.ear.woken:
			if !r.behind(s.end) {
				timer.Reset(s.hearHook(time.Now()))
			}
		case <-s.reread:
			if !r.behind(s.end) {
				timer.Reset(s.look(time.Now()))
			}
		case <-timer.C:
			timer.Reset(s.look(time.Now()))
		}
	}
}

// feed writes output to the screen. It looks at each frame that is completed in the
// middle of the output, and answers the queries in it.
func (s *session) feed(p []byte, r *replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !r.behind(s.end) {
		s.output = now
	}
	for len(p) > 0 {
		p = p[s.reader.feed(p[:r.next(s.end, len(p))], now):]
		if s.paint.whole && len(p) > 0 && !r.behind(s.end) {
			s.lookLocked(now)
		}
		s.reply(s.screen.Replies(), r)
		s.sizeTaken()
		r.resize(s.end, s.screen)
		s.capture(now)
	}
}

// reply answers the program's queries to its terminal. It skips queries that an earlier
// host agent has answered.
func (s *session) reply(p []byte, r *replay) {
	if len(p) == 0 || s.end <= r.answered {
		return
	}
	s.owe(owed{s.end, p})
}

// look reads the screen and returns when to look again if nothing comes.
func (s *session) look(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookLocked(now)
}

// lookLocked is look for callers that hold mu.
func (s *session) lookLocked(now time.Time) time.Duration {
	s.listen(now)
	next := s.reader.look(now)
	if s.halfDone(now) == 0 {
		s.wakeLookers()
	}
	return next
}

// present updates the reading from the newest whole picture.
func (s *session) present(ctx context.Context) error {
	return s.still(ctx, func(*frame, verdict) error { return nil })
}

func (s *session) wakeLookers() {
	close(s.looked)
	s.looked = make(chan struct{})
}

func (s *session) ended(code int, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := s.screen.View()
	next := coleo.Reading{State: coleo.Dead, Rule: "process", Known: true, ExitCode: &code}
	s.become(time.Now(), next, how, &view)
	s.wakeLookers()
}

// lostHolder handles the end of the stream without a report of the program's end.
func (s *session) lostHolder() {
	if s.ctx.Err() != nil {
		return // closed by Close
	}
	if exit, err := holder.ReadExit(s.Handle().Dir); err == nil && exit != nil {
		s.ended(exit.Code, exit.String())
		return
	}
	s.ended(-1, "its holder has died")
}

// outputReader is a stream as an io.Reader.
type outputReader struct {
	stream *holder.Stream
	rest   []byte
}

func (r *outputReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		chunk, err := r.stream.Next()
		if err != nil {
			return 0, err
		}
		if chunk.Exit != nil {
			return 0, io.EOF
		}
		r.rest = chunk.Data
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *outputReader) Close() error { return r.stream.Close() }

// findConversation asks the hook for the id of a conversation that the agent CLI began by
// itself. It runs once the first turn is over.
func (s *session) findConversation() {
	f := s.factsNow()
	if s.h.hooks.Conversation == nil || f.Conversation != "" {
		return
	}
	id, err := s.h.hooks.Conversation(s.ctx, f)
	if err != nil || id == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handle.Conversation = id
	s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeConversation, Reading: s.reading, Note: id})
}

func (s *session) factsNow() Facts {
	f := s.facts
	f.Conversation = s.Handle().Conversation
	return f
}
