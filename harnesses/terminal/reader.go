package terminal

import (
	"slices"
	"time"

	"coleo.dev/harnesses/terminal/rules"

	"coleo.dev"
	"coleo.dev/pty"
)

// reader turns a program's output into readings. It keeps the screen, the verdict of the
// rules, and the combined reading of all witnesses. It has no clock: its caller passes
// the time, so that a recording is read as a session would have read it. A reader is not
// safe for concurrent use.
type reader struct {
	spec *rules.Spec
	tell func(coleo.Change) // called with each change

	screen   *pty.Core
	end      int64     // offset of the end of the output that the screen shows
	fed      time.Time // when output last came
	pastes   bool      // bracketed paste was on at least once
	paint    paint
	frame    *rules.Picture // the last picture looked at
	memo     rules.Memo     // answers from earlier pictures
	seen     time.Time      // when the last picture was looked at
	verdict  rules.Verdict
	reading  coleo.Reading
	pending  time.Time // since when a calm verdict that must settle has held
	unknown  time.Time // since when no rule knows the screen; zero: a rule does
	reported bool      // the unknown screen was reported
	inbands  []inband
	voices   map[pty.NoticeKind]*voice // claims of the program itself, in escape sequences
	reports  reports                   // claims of its hook
	said     []heard                   // the newest notice of each kind
	hold     bool                      // a prompt was submitted and does not show yet
	worked   int                       // number of looks that saw work or a dialog
	sent     time.Time                 // when a prompt was submitted on which no work was seen yet; zero: none
	deaf     bool                      // the claims of the program and its hook do not count
	alone    bool                      // no process shows when the program ends
	over     bool                      // no more output will come
	fresh    bool                      // seen from its start on, and no prompt was sent yet
	dialogs  dialogCounter
}

// works notes that the agent CLI was seen working or asking.
func (r *reader) works() {
	r.worked++
	r.sent = time.Time{}
}

func newReader(spec *rules.Spec, cols, rows int, now time.Time, tell func(coleo.Change)) *reader {
	r := &reader{
		spec: spec, tell: tell, screen: pty.New(cols, rows), memo: rules.Memo{}, dialogs: newDialogCounter(),
		inbands: inbands(), voices: voices(), reports: newReports(&spec.Hook),
		reading: coleo.Reading{State: coleo.Initializing, Rule: "spawned", Since: now},
	}
	r.asDrawn()
	r.frame = rules.NewPicture(r.screen.View(), &spec.Composer)
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: r.reading})
	return r
}

// asDrawn makes the screen measure characters as the agent CLI does.
func (r *reader) asDrawn() {
	if r.spec.NarrowEmoji {
		r.screen.NarrowEmoji()
	}
}

// feed writes output to the screen up to the end of a frame, and returns the number of
// bytes written.
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

// hear keeps what the program reports beside its screen, for a snapshot.
func (r *reader) hear(n pty.Notice, now time.Time) {
	if n.Kind == pty.NoticeTitle || n.Kind == pty.NoticeBell {
		// A title is on the screen, and a bell has no text.
		return
	}
	r.said = slices.DeleteFunc(r.said, func(h heard) bool { return h.Kind == n.Kind })
	r.said = append(r.said, heard{n.Kind, n.Text, now})
}

// resume continues from a snapshot, as if all output before it had been fed.
func (r *reader) resume(s *snapshot, now time.Time) {
	r.screen, r.end, r.pastes, r.said = s.screen, s.Offset, s.Pastes, s.Said
	r.asDrawn()
	for _, h := range s.Said {
		r.heed(pty.Notice{Kind: h.Kind, Text: h.Text}, h.Time)
	}
	r.fed, r.paint = now, paint{begun: now}
}

// witnesses returns the voices beside the screen, those of the program first.
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
		Reading: r.reading, Now: now, Rows: r.verdict.Rows, Screen: r.screen.View(),
		Witnesses: []coleo.Witness{{Name: "screen", State: r.verdict.State, Rule: r.verdict.Rule,
			Detail: r.verdict.Detail, Time: r.seen}},
	}
	for _, v := range r.witnesses() {
		if !v.seen() {
			continue
		}
		x.Witnesses = append(x.Witnesses, v.witness())
		if v.state() != "" && v.contradicted(r.verdict.State) {
			x.Disagreement = v.disagreement(r.verdict.State)
		}
	}
	return x
}

// transcript returns the rows above the composer, after those that have scrolled off.
func (r *reader) transcript() []string {
	return append(r.screen.History(historyRows), r.frame.Above()...)
}

// echoed returns how often the transcript shows how a prompt begins, including the rows
// that have scrolled off.
func (r *reader) echoed(prompt string) int { return rules.CountEchoes(r.transcript(), prompt) }

// echoedSince reports whether the newest whole picture shows the prompt's beginning more
// often than before. With the rows of an older picture, rows that have scrolled off might
// be counted twice. A picture without a composer proves nothing: the composer's own text
// may be half drawn there.
func (r *reader) echoedSince(prompt string, before int) bool {
	return r.paint.begun.IsZero() && r.frame.Composer != nil && r.echoed(prompt) > before
}
