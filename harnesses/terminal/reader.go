package terminal

import (
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/pty"
)

// reader turns a program's output into readings: the screen, what the rules
// say of it, and what all witnesses mean together. It has no clock: whoever
// feeds it tells the time, so that a recording is read as a session would have
// read it. It is not safe for concurrent use.
type reader struct {
	spec *Spec
	tell func(coleo.Change) // is called with each change

	screen   *pty.Core
	end      int64     // of the output that the screen shows
	fed      time.Time // when some came last
	pastes   bool      // bracketed paste was on at least once
	paint    paint
	frame    *frame    // the last picture looked at
	memo     memo      // of the pictures before it
	seen     time.Time // when that was
	verdict  verdict
	reading  coleo.Reading
	pending  time.Time // since when a calm verdict that must settle has held
	unknown  time.Time // since when no rule knows the screen; zero: it is known
	reported bool      // that it is unknown
	inbands  []inband
	voices   map[pty.NoticeKind]*voice // of the program itself
	reports  reports                   // of its hook
	said     []heard                   // the program's last words beside its screen, one of each kind
	hold     bool                      // a prompt was submitted and has not shown yet
	worked   int                       // how many looks saw it working or asking
	sent     time.Time                 // when a prompt was submitted, no work on which was seen yet; zero: none
	deaf     bool                      // the program's own word does not count
	alone    bool                      // nobody else knows when the program ends
	over     bool                      // no more output will come
	fresh    bool                      // seen from its start on, and no prompt was sent yet
	dialogs  dialogCounter
}

// works notes that work, or a question, was seen.
func (r *reader) works() {
	r.worked++
	r.sent = time.Time{}
}

func newReader(spec *Spec, cols, rows int, now time.Time, tell func(coleo.Change)) *reader {
	r := &reader{
		spec: spec, tell: tell, screen: pty.New(cols, rows), memo: memo{}, dialogs: newDialogCounter(),
		inbands: inbands(), voices: voices(), reports: newReports(&spec.Hook),
		reading: coleo.Reading{State: coleo.Initializing, Rule: "spawned", Since: now},
	}
	r.asDrawn()
	r.frame = newFrame(r.screen.View(), &spec.Composer)
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: r.reading})
	return r
}

// asDrawn has the screen measure characters as the agent CLI does.
func (r *reader) asDrawn() {
	if r.spec.NarrowEmoji {
		r.screen.NarrowEmoji()
	}
}

// feed writes output to the screen up to the end of a frame and returns how
// many bytes that were.
func (r *reader) feed(p []byte, now time.Time) int {
	frames := r.screen.Frame().Count
	n := r.screen.Feed(p)
	r.end += int64(n)
	r.fed = now
	if r.paint.begun.IsZero() {
		r.paint.begun = now
	}
	r.paint.whole = r.screen.Frame().Count != frames
	for _, n := range r.screen.Notices() {
		if r.deaf {
			continue
		}
		if r.hear(n, now); r.heed(n, now) {
			r.works()
		}
	}
	return n
}

// hear keeps what the program says beside its screen, for a snapshot.
func (r *reader) hear(n pty.Notice, now time.Time) {
	if n.Kind == pty.NoticeTitle || n.Kind == pty.NoticeBell {
		return // the one is on the screen, the other has no text
	}
	r.said = slices.DeleteFunc(r.said, func(h heard) bool { return h.Kind == n.Kind })
	r.said = append(r.said, heard{n.Kind, n.Text, now})
}

// resume goes on from a snapshot, as if all output before it had been fed.
func (r *reader) resume(s *snapshot, now time.Time) {
	r.screen, r.end, r.pastes, r.said = s.screen, s.Offset, s.Pastes, s.Said
	r.asDrawn()
	for _, h := range s.Said {
		r.heed(pty.Notice{Kind: h.Kind, Text: h.Text}, h.Time)
	}
	r.fed, r.paint = now, paint{begun: now}
}

// witnesses are the voices beside the screen, those of the program first.
func (r *reader) witnesses() []*voice {
	out := make([]*voice, 0, len(r.inbands)+1)
	for _, b := range r.inbands {
		out = append(out, r.voices[b.kind])
	}
	return append(out, &r.reports.voice)
}

// explain returns the evidence behind the reading.
func (r *reader) explain(now time.Time) coleo.Explanation {
	x := coleo.Explanation{
		Reading: r.reading, Now: now, Rows: r.verdict.rows, Screen: r.screen.View(),
		Witnesses: []coleo.Witness{{Name: "screen", State: r.verdict.state, Rule: r.verdict.rule, Detail: r.verdict.detail, Time: r.seen}},
	}
	for _, v := range r.witnesses() {
		if !v.seen() {
			continue
		}
		x.Witnesses = append(x.Witnesses, v.witness())
		if v.state() != "" && v.contradicted(r.verdict.state) {
			x.Disagreement = v.disagreement(r.verdict.state)
		}
	}
	return x
}
