package opencodeapi

import (
	"context"
	"iter"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/holder"
	"coleo.dev/printable"
	"coleo.dev/record"
)

const (
	// stopGrace is the time between HUP and KILL.
	stopGrace = 2 * time.Second
	// followRetry is the time between two attempts to follow the server's events.
	followRetry = 250 * time.Millisecond
)

// Session is one live server and one conversation on this server. It does not implement
// coleo.Reloader, because it reads no screen: it uses only the title and the limits of its Spec.
type Session struct {
	h      *Harness
	own    extra
	client *holder.Client
	log    *terminal.Changes
	ctx    context.Context // canceled by Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	record     *record.Follower // reads the record; nil if the record's place is unknown
	opened     time.Time        // when this session was opened
	conversing chan struct{}    // closed when the server listens and the conversation exists

	sending sync.Mutex // held while a prompt or an answer is being sent, so that only one is sent at a time

	mu      sync.Mutex
	handle  coleo.Handle
	server  *server // sends requests to the server; nil until the server listens
	facts   facts
	reading coleo.Reading
	told    int // the value of facts.failures at the last reading
	output  time.Time
	changed chan struct{} // closed and replaced when the facts change

	delivering bool   // Coleo is sending a prompt
	prompted   string // id of the newest message of the user
	untold     bool   // Coleo must still report the turn that begins with the message `prompted`
}

var (
	_ coleo.Session     = (*Session)(nil)
	_ coleo.OutputTimer = (*Session)(nil)
	_ coleo.Compactor   = (*Session)(nil)
	_ coleo.Prover      = (*Session)(nil)

	_ coleo.UsageMeter = (*Session)(nil)
	_ coleo.Limiter    = (*Session)(nil)
)

func (h *Harness) open(handle coleo.Handle, own extra) (*Session, error) {
	client, err := holder.Dial(handle.Dir, handle.Nonce)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	output, err := client.Lead(ctx, 0, 0)
	if err != nil {
		cancel()
		client.Close()
		return nil, err
	}
	s := &Session{
		h: h, own: own, client: client, handle: handle, log: terminal.NewChanges(), ctx: ctx, cancel: cancel,
		facts: newFacts(), changed: make(chan struct{}), conversing: make(chan struct{}), opened: time.Now(),
		reading: coleo.Reading{State: coleo.Initializing, Rule: "spawned", Since: time.Now(), Known: true},
	}
	s.log.Add(coleo.Change{Time: s.reading.Since, Kind: coleo.ChangeState, Reading: s.reading})
	s.followRecord(ctx)
	s.work.Go(s.begin)
	s.work.Go(func() { s.watchProcess(output) })
	return s, nil
}

// begin waits until the server listens, opens the conversation, and follows the server's events.
func (s *Session) begin() {
	failing := time.Now()
	base, err := awaitAddress(s.ctx, s.client)
	for ; err != nil; base, err = awaitAddress(s.ctx, s.client) {
		s.reportTrouble(err, failing, usualBounds.trouble)
		if !s.waitWhileOpen(followRetry) {
			return // for example because watchProcess has seen the end of the server's process
		}
	}
	srv := newServer(base, s.own.Password, s.handle.Workdir)
	failing = time.Now()
	for {
		err := s.converse(srv)
		if err == nil {
			break
		}
		s.reportTrouble(err, failing, srv.bounds.trouble)
		if !s.waitWhileOpen(followRetry) {
			return
		}
	}
	close(s.conversing)
	s.followEvents(srv)
}

// followEvents follows the server's events until the session is closed. When a stream ends, it asks
// for a new one.
func (s *Session) followEvents(srv *server) {
	// failing is the time at which Coleo first failed to reach the server. It is zero while Coleo reaches the
	// server.
	var failing time.Time
	for s.ctx.Err() == nil {
		attempt, connected := time.Now(), false
		err := srv.events(s.ctx, func(e event) error {
			if e.Type != "server.connected" && !s.apply(e) {
				return nil
			}
			err := s.resync(srv)
			connected = connected || err == nil
			return err
		})
		switch {
		case connected:
			failing = time.Time{}
		case failing.IsZero():
			failing = attempt
		}
		if !connected {
			s.reportTrouble(err, failing, srv.bounds.trouble)
		}
		if !s.waitWhileOpen(followRetry) {
			return
		}
	}
}

// reportTrouble stores in the reading why Coleo cannot follow the server. It reports a refused password at
// once. It reports any other fault only after the fault has lasted for `minDuration`, because a server
// refuses connections just before it ends.
func (s *Session) reportTrouble(err error, faultBegan time.Time, minDuration time.Duration) {
	refused := coleo.ErrorCode(err) == coleo.EUnauthorized
	if s.ctx.Err() != nil || !refused && time.Since(faultBegan) < minDuration {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.facts.trouble != "" && s.facts.refused == refused {
		return // this fault is already reported; only the text differs, for example by a port
	}
	s.facts.trouble, s.facts.refused = err.Error(), refused
	s.setReading(s.facts.reading(), "")
}

// converse makes sure that the conversation exists. A new conversation can be a copy of another
// one.
func (s *Session) converse(srv *server) error {
	var made struct {
		ID string `json:"id"`
	}
	id := s.Handle().Conversation
	if id != "" {
		err := srv.do(s.ctx, "GET", "/session/"+id, nil, &made)
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			return err
		}
	}
	if made.ID == "" {
		path := "/session"
		if id == "" && s.own.Fork != "" {
			path += "/" + s.own.Fork + "/fork"
		}
		if err := srv.do(s.ctx, "POST", path, struct{}{}, &made); err != nil {
			return err
		}
	}
	if !record.ValidID(made.ID) {
		return coleo.Errorf(coleo.EInternal, "the server calls a conversation %q", printable.Shortened(made.ID))
	}
	s.mu.Lock()
	moved := made.ID != id || s.handle.Port != srv.port()
	s.server, s.handle.Conversation, s.handle.Port = srv, made.ID, srv.port()
	if moved {
		s.log.Add(coleo.Change{Time: time.Now(), Kind: coleo.ChangeConversation, Reading: s.reading, Note: made.ID})
	}
	s.mu.Unlock()
	return nil
}

// resync asks the server for its present state. This is necessary for each new stream of events, because the
// stream does not contain the earlier events. If an event has changed the facts meanwhile, the server's
// answers may be older than the event, so resync asks again. It also asks again if the session has changed to
// another conversation.
func (s *Session) resync(srv *server) error {
	for {
		s.mu.Lock()
		before, conversation := s.facts.events, s.handle.Conversation
		s.mu.Unlock()
		now, err := askFacts(s.ctx, srv, conversation)
		if err != nil {
			return err
		}
		isNewest := false
		s.update(func(f *facts) {
			if isNewest = f.events == before && s.handle.Conversation == conversation; isNewest {
				f.replace(now)
			}
		})
		if isNewest {
			return nil
		}
	}
}

// waitWhileOpen waits for a duration, or until the session is closed. It reports whether the
// session is still open.
func (s *Session) waitWhileOpen(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// watchProcess waits for the end of the server's process. The parameter `output` is the output of the process.
func (s *Session) watchProcess(output *holder.Stream) {
	defer s.log.End()
	defer output.Close()
	for {
		chunk, err := output.Next()
		switch {
		case s.ctx.Err() != nil:
			return
		case err != nil:
			if exit, readErr := holder.ReadExit(s.Handle().Dir); readErr == nil && exit != nil {
				s.onServerEnd(exit.Rule(), exit.Code, exit.String())
				return
			}
			s.onServerEnd(coleo.RuleHolderGone, -1, "its holder has died")
			return
		case chunk.Exit != nil:
			s.onServerEnd(chunk.Exit.Rule(), chunk.Exit.Code, chunk.Exit.String())
			return
		}
	}
}

func (s *Session) onServerEnd(rule string, code int, how string) {
	s.catchUp()
	s.mu.Lock()
	s.setReading(coleo.Reading{State: coleo.Dead, Rule: rule, Known: true, ExitCode: &code}, how)
	s.mu.Unlock()
	s.cancel()
}

// update changes the facts, and then the reading that follows from the facts. The states idle and error end
// a run. The server can report one of them before Coleo has read all work of the run in the record. So
// before update sets one of these states, it reports all work in the record. The facts can change
// meanwhile, so update computes the reading again afterwards.
func (s *Session) update(change func(*facts)) {
	s.mu.Lock()
	change(&s.facts)
	s.output = time.Now()
	next, last := s.facts.reading().State, s.reading.State
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if next != last && (next == coleo.Idle || next == coleo.Failed) {
		s.catchUp()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setReading(s.facts.reading(), "")
}

// setReading stores a new reading, and reports the change. Another failure is a change too, even if the
// reading is the same: it can end another run. The caller must hold mu.
func (s *Session) setReading(next coleo.Reading, note string) {
	last, now := s.reading, time.Now()
	if last.State == coleo.Dead {
		return
	}
	another := next.State != last.State || next.State == coleo.Failed && s.facts.failures > s.told
	next.Since = last.Since
	if another {
		next.Since = now
	}
	s.reading, s.told = next, s.facts.failures
	if another || next.Detail != last.Detail || fingerprintOf(next) != fingerprintOf(last) {
		s.log.Add(coleo.Change{Time: now, Kind: coleo.ChangeState, From: last.State, Reading: next, Note: note})
	}
}

func fingerprintOf(r coleo.Reading) coleo.Fingerprint {
	if r.Dialog == nil {
		return ""
	}
	return r.Dialog.Fingerprint
}

// Handle returns the data with which Attach finds this session again.
func (s *Session) Handle() coleo.Handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handle
}

// State returns the last reading.
func (s *Session) State() coleo.Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reading
}

// LastOutput returns the time at which the server last reported something.
func (s *Session) LastOutput() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output
}

// Held asks the holder to prove that it belongs to the session's handle. It returns the results of
// holder.Client.Proves.
func (s *Session) Held() (blocked string, err error) { return s.client.Proves(s.Handle()) }

// Changes yields the changes with a number above the given cursor, and then each new change. It
// ends when ctx is canceled or the session ends.
func (s *Session) Changes(ctx context.Context, from coleo.Cursor) iter.Seq2[coleo.Change, error] {
	return s.log.Follow(ctx, from)
}

// Kill ends the whole process tree, and returns when the session has ended. Processes have 2 s
// between HUP and KILL. Kill ignores its context. It returns the errors of holder.Client.End, such
// as EInternal if processes are left.
func (s *Session) Kill(context.Context) error {
	if err := s.client.End(s.Handle().Arm, stopGrace); err != nil {
		return err
	}
	s.work.Wait()
	return nil
}

// Close ends the session, but not the server. It returns the error of closing the
// connection to the holder.
func (s *Session) Close() error {
	s.cancel()
	err := s.client.Close()
	s.work.Wait()
	return err
}
