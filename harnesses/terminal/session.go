package terminal

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/harnesses/terminal/typing"
	"coleo.dev/holder"
	"coleo.dev/record"
)

// stopGrace is the time between the hang-up signal and the KILL signal. Agent CLIs save
// their state within a second.
const stopGrace = 2 * time.Second

// session is one live agent CLI on a terminal. It passes the holder's output to a Reader, and the
// Typist's keys to the holder. Each value that can change is inside a field whose type has its own
// lock.
type session struct {
	harness *Harness
	handle  coleo.Handle // its value when the session was opened; the method Handle returns the present one
	facts   Facts        // its value when the session was opened; factsNow returns the present one
	client  *holder.Client
	ctx     context.Context // canceled by Close
	cancel  context.CancelFunc
	done    chan struct{} // closed when the read loop has ended
	reread  chan struct{} // wakes the read loop after a new Spec was set
	pace    pace          // counts the output of the session; only the read loop uses it

	log          *Changes
	live         *live
	view         view
	hook         *hookFollower
	record       *recordFollower
	typist       *typing.Typist
	replies      *pendingReplies
	snapshots    *past.Writer
	sizes        sizes
	viewers      viewers
	redrawing    *redrawing
	conversation conversation
	submissions  submissions
}

var (
	_ coleo.Session       = (*session)(nil)
	_ coleo.Terminal      = (*session)(nil)
	_ coleo.Explainer     = (*session)(nil)
	_ coleo.OutputTimer   = (*session)(nil)
	_ coleo.HolderSession = (*session)(nil)
	_ coleo.Compactor     = (*session)(nil)
	_ coleo.Reloader      = (*session)(nil)
	_ coleo.Prover        = (*session)(nil)
	_ coleo.TurnContinuer = (*session)(nil)
	_ coleo.Versioned     = (*session)(nil)
	_ coleo.ModeSwitcher  = (*session)(nil)
	_ coleo.Limiter       = (*session)(nil)

	_ coleo.ModelSetter = (*session)(nil)

	_ coleo.UsageMeter = (*session)(nil)
)

// startLasts is how long after its start an agent CLI counts as starting, in a session that is opened
// again. It is several times as long as the slowest known start.
const startLasts = time.Minute

// open returns a session on a holder. The session's screen is up to date. justStarted is true if
// the agent CLI was started just now.
func (h *Harness) open(handle coleo.Handle, facts Facts, at holder.Status, justStarted bool) (*session, error) {
	client, err := holder.Dial(handle.Dir, handle.Nonce)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		harness: h, facts: facts, handle: handle, client: client, ctx: ctx, cancel: cancel,
		done: make(chan struct{}), reread: make(chan struct{}, 1), log: NewChanges(),
		replies:      &pendingReplies{client: client},
		snapshots:    past.NewWriter(handle, func(offset int64) { _ = client.Covered(offset) }),
		redrawing:    newRedrawing(),
		conversation: conversation{id: handle.Conversation},
	}
	reader, replay := s.rebuild(at)
	if justStarted {
		reader.SetFromStart()
	}
	stream, err := client.Lead(ctx, reader.End(), floodAhead)
	if err != nil {
		cancel()
		client.Close()
		return nil, err
	}
	h.shared.conversations.take(s, handle.Conversation)
	s.hook = followHook(h.spec, handle.Dir)
	s.record = s.followRecord()
	if s.record.follower != nil {
		reader.ExpectRecord()
		reader.SetEntryCheck(s.record.catchUp)
	}
	starting := justStarted || time.Since(facts.Started) < startLasts
	switch {
	case facts.Fork && len(h.spec.ForkReady) > 0:
		reader.ExpectFork(starting)
	case len(h.spec.Ready) > 0 || h.hooks.Record.ReportsReady:
		reader.ExpectReady(starting)
	}
	s.live = newLive(reader, s.hookLines, s.record, s.onWork)
	s.view = view{live: s.live, log: s.log, client: client}
	s.typist = typing.New(s.view, h.spec)
	go s.follow(stream, replay)
	s.restoreSize()
	return s, nil
}

// rules returns the Spec with which the session reads and types: the Spec of the last Reload, or
// the harness's Spec.
func (s *session) rules() *rules.Spec { return s.typist.Spec() }

// onChange adds a change that the Reader has observed to the session's list of changes.
func (s *session) onChange(c coleo.Change) {
	s.log.Add(c)
	if c.Kind == coleo.ChangeState && c.Reading.State == coleo.Idle && c.From != coleo.Initializing {
		go s.findConversation()
	}
}

// onWork adds a change of the kind ChangeWork to the session's list of changes. The change contains
// the tool calls, texts and other activities in the given entries of a record.
func (s *session) onWork(e recordEntries, now coleo.Reading) {
	if work := record.Activities(e.list); len(work) > 0 {
		s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeWork, Reading: now, Work: work, Record: e.record})
	}
}

// Handle returns the data with which Attach finds this session again.
func (s *session) Handle() coleo.Handle {
	h := s.handle
	h.Conversation = s.conversation.get()
	return h
}

// State returns the last reading.
func (s *session) State() coleo.Reading {
	r, unlock := s.live.lock()
	defer unlock()
	return r.Reading()
}

// Changes yields the changes with a number above the given cursor, and then each new change. It
// ends when ctx is canceled or the session ends.
func (s *session) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return s.log.Follow(ctx, from)
}

// Screen returns the present screen of the terminal.
func (s *session) Screen() coleo.Screen {
	r, unlock := s.live.lock()
	defer unlock()
	return r.Core().View()
}

// LastOutput returns the time at which the agent CLI last wrote output. It returns the zero time if
// there was no output since the session was opened.
func (s *session) LastOutput() time.Time {
	w, unlock := s.live.watch()
	defer unlock()
	return w.live.lastOutput
}

// Explain returns the evidence for the reading.
func (s *session) Explain() coleo.Explanation {
	r, unlock := s.live.lock()
	defer unlock()
	return r.Explain(time.Now())
}

// Output returns a reader of the terminal's output from the given offset in bytes, including live
// output. It ends with io.EOF when the program ends, the holder ends or ctx is canceled.
func (s *session) Output(ctx context.Context, from int64) (io.ReadCloser, error) {
	stream, err := s.client.Stream(ctx, from)
	if err != nil {
		return nil, err
	}
	s.viewers.onOpen()
	return &outputReader{stream: stream, onClose: sync.OnceFunc(func() { s.viewers.onClose(time.Now()) })}, nil
}

// Held asks the holder to prove that it belongs to the session's handle. It returns the results of
// holder.Client.Proves.
func (s *session) Held() (blocked string, err error) { return s.client.Proves(s.Handle()) }

// Input types bytes into the program as keys, without a check of the screen. It returns an error if
// it cannot reach the holder, or if ctx ends before the keys are typed.
func (s *session) Input(ctx context.Context, p []byte) error {
	s.viewers.onKeys(time.Now())
	s.submissions.addKeys(time.Now())
	_, err := s.view.Write(ctx, typing.Keys{ID: coleo.NewUUID(), Data: p})
	return err
}

// Kill ends the whole process tree, and returns when the read loop has ended. Processes
// have 2 s between the hang-up signal and the KILL signal. Kill ignores its context. It
// returns the errors of holder.Client.End, such as EInternal if processes are left.
func (s *session) Kill(context.Context) error {
	if err := s.client.End(s.Handle().Arm, stopGrace); err != nil {
		return err
	}
	<-s.done
	return nil
}

// Close ends the session, but not the agent CLI, and writes a last snapshot. If the agent CLI has ended,
// Close first waits for a call that is still typing. It returns the error of closing the connection to the
// holder.
func (s *session) Close() error {
	s.harness.shared.conversations.leave(s)
	s.redrawing.stop()
	s.resizePostponed()
	s.cancel()
	if s.State().State == coleo.Dead {
		defer s.typist.Pause()()
	}
	s.lastSnapshot()
	err := s.client.Close()
	<-s.done
	return err
}

// Unjudged returns the version of the running agent CLI if nobody has tested the rules with that version.
// Otherwise it returns "".
func (s *session) Unjudged() string {
	if s.rules().Judged(s.facts.Version) {
		return ""
	}
	return s.facts.Version
}

// Reload makes the session use another Spec of the same harness for reading and typing, and read the screen
// again. The launch of the agent CLI stays the same, and so does the meaning of the hook's reports. The
// error is EInvalid if `h` is another harness, and EBusy if somebody is typing.
func (s *session) Reload(h coleo.Harness) error {
	next, ok := h.(*Harness)
	if !ok || next.spec.Name != s.rules().Name {
		return coleo.Errorf(coleo.EInvalid, "the rules of %s cannot be used for %s", h.Info().Name, s.rules().Name)
	}
	return s.typist.Reload(next.spec, func() {
		r, unlock := s.live.lock()
		defer unlock()
		r.SetSpec(next.spec)
		select {
		case s.reread <- struct{}{}:
		default: // another look is already pending
		}
	})
}
