package terminal

import (
	"io"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/past"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/holder"
)

// chunksAhead is the largest number of chunks of output that may wait for the read loop.
const chunksAhead = 16

// follow runs the read loop. After the session is open, only the read loop writes output to the
// screen.
func (s *session) follow(stream *holder.Stream, replay *past.Replay) {
	defer close(s.done)
	defer s.log.End()
	defer s.hook.close()
	defer s.record.close()
	defer s.harness.shared.floods.leave(&s.pace)
	chunks := make(chan holder.Chunk, chunksAhead)
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
	s.readChunks(chunks, replay)
}

// readChunks reads output until the program or the session ends. It looks at the screen whenever a
// look is due.
func (s *session) readChunks(chunks <-chan holder.Chunk, replay *past.Replay) {
	timer := time.NewTimer(s.firstLook())
	defer timer.Stop()
	for {
		if !s.isBehind(replay) {
			s.redrawIfWanted()
		}
		select {
		case chunk, ok := <-chunks:
			switch {
			case !ok:
				s.lostHolder()
				return
			case chunk.Exit != nil:
				s.live.end(chunk.Exit.Rule(), chunk.Exit.Code, chunk.Exit.String())
				return
			}
			if behind := s.feed(chunk.Data, replay); behind {
				continue
			}
			s.keepPace(len(chunk.Data), time.Now())
			timer.Reset(s.live.look(time.Now()))
		case <-s.hook.woken:
			if !s.isBehind(replay) {
				timer.Reset(s.live.onReport(time.Now()))
			}
		case <-s.record.woken:
			if !s.isBehind(replay) {
				timer.Reset(s.live.onReport(time.Now()))
			}
		case <-s.reread:
			if !s.isBehind(replay) {
				timer.Reset(s.live.look(time.Now()))
			}
		case <-timer.C:
			if !s.isBehind(replay) {
				timer.Reset(s.live.look(time.Now()))
			}
		}
	}
}

// firstLook returns how long to wait for the first look at the screen if no output comes before.
func (s *session) firstLook() time.Duration {
	r, unlock := s.live.lock()
	defer unlock()
	if r.End() == 0 {
		return reading.IdleLook // nothing is drawn yet
	}
	return 0
}

// isBehind reports whether the session is still reading output from before the session was opened.
func (s *session) isBehind(replay *past.Replay) bool {
	r, unlock := s.live.lock()
	defer unlock()
	return replay.Behind(r.End())
}

// feed writes the output `p` to the screen. If `p` completes a picture and then continues, feed looks at
// that picture before it writes the rest. It reports whether the session is still reading old output
// afterwards; see isBehind.
func (s *session) feed(p []byte, replay *past.Replay) (behind bool) {
	w, unlock := s.live.watch()
	defer unlock()
	now := time.Now()
	if !replay.Behind(w.End()) {
		w.live.lastOutput = now
	}
	for len(p) > 0 {
		n, whole := w.Feed(p[:replay.Next(w.End(), len(p))], now)
		if p = p[n:]; whole && len(p) > 0 && !replay.Behind(w.End()) {
			w.look(now)
		}
		s.onOutput(w.Reader, replay, now)
	}
	return replay.Behind(w.End())
}

// onOutput does the following after output has reached the screen:
//
//   - It replies to queries in the output that no earlier host agent has answered.
//   - It records whether the program has drawn for its last size.
//   - It applies the resizes at this offset of the output.
//   - It takes a snapshot if one is due.
func (s *session) onOutput(r *reading.Reader, replay *past.Replay, now time.Time) {
	if data := r.Core().Replies(); len(data) > 0 && r.End() > replay.Answered {
		s.replies.add(reading.Reply{Offset: r.End(), Data: data})
	}
	s.sizes.noteFrames(r.Core().WholeFrames())
	replay.Resize(r.End(), r.Resize)
	s.snapshots.Capture(r.End(), func() *reading.Snapshot { return s.snapshot(r, now) })
}

// snapshot returns a snapshot of the Reader `r`, together with the replies that the holder has not
// confirmed.
func (s *session) snapshot(r *reading.Reader, now time.Time) *reading.Snapshot {
	out := r.Snapshot(now)
	out.Replies = s.replies.unconfirmed()
	return out
}

// lostHolder is called when the holder's stream has ended without a message about the end of the program.
// If the holder has stored such a message in its folder, lostHolder uses the message. Otherwise it reports
// that the holder has died.
func (s *session) lostHolder() {
	if s.ctx.Err() != nil {
		return // Close has ended the stream
	}
	if exit, err := holder.ReadExit(s.handle.Dir); err == nil && exit != nil {
		s.live.end(exit.Rule(), exit.Code, exit.String())
		return
	}
	s.live.end(coleo.RuleHolderGone, -1, "its holder has died")
}

// outputReader is an io.Reader that reads a stream.
type outputReader struct {
	stream  *holder.Stream
	rest    []byte
	onClose func() // called when the viewer closes the reader
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

func (r *outputReader) Close() error {
	r.onClose()
	return r.stream.Close()
}
