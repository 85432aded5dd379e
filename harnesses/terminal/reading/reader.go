package reading

import (
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// HistoryRows is how many rows that scrolled off count as part of the transcript.
const HistoryRows = 2000

// Reader turns a program's output into readings. It keeps the screen, the verdict of the
// rules, and the combined reading of all witnesses. It has no clock: its caller passes
// the time, so that a recording is read as a session would have read it. A Reader is not
// safe for concurrent use.
type Reader struct {
	spec *rules.Spec
	tell func(coleo.Change) // called with each change

	screen       *pty.Core
	output       output
	painting     painting
	sawPasteMode bool // bracketed paste was on at least once

	picture  *rules.Picture // the last picture looked at
	lookedAt time.Time      // when that was
	memo     rules.Memo     // results of earlier pictures
	verdict  rules.Verdict  // of the last picture
	dialogs  appearances

	protocols []protocol
	inband    map[pty.NoticeKind]*witness // claims of the program itself, in escape sequences
	hook      hookReports                 // claims of its hook
	recorded  recorded                    // claims of its own record of the conversation
	notices   []Notice                    // the newest notice of each kind

	reading       coleo.Reading
	settlingSince time.Time // since when a verdict of idle or error has held; zero: none has to
	unknown       unknown
	prompt        prompt
	mode          mode
}

// output is how far the program's output has been read.
type output struct {
	end  int64     // offset of the end of the output that the screen shows
	last time.Time // when output last came
}

// unknown is a screen that no rule knows.
type unknown struct {
	since time.Time // zero: a rule knows the screen
	told  bool
}

// prompt is what is known of the newest prompt that Coleo typed.
type prompt struct {
	none      bool      // the agent CLI is seen from its start on, and no prompt was sent yet
	undecided bool      // a prompt was submitted, and what became of it does not show yet
	sentAt    time.Time // when a prompt was submitted on which no work was seen yet; zero: none
	workSeen  int       // number of looks that saw work or a dialog
}

// mode is how a Reader is used.
type mode struct {
	screenOnly bool // the claims of the program and its hook do not count
	noProcess  bool // no process shows when the program ends
	ended      bool // no more output will come
}

// New returns a Reader of an empty screen with a size in cells. It calls tell with each
// change, the first one from within New.
func New(spec *rules.Spec, cols, rows int, now time.Time, tell func(coleo.Change)) *Reader {
	r := &Reader{
		spec: spec, tell: tell, screen: pty.New(cols, rows), memo: rules.Memo{}, dialogs: newAppearances(),
		protocols: protocols(), inband: newWitnesses(), hook: newHookReports(&spec.Hook),
		recorded: newRecorded(),
		reading:  coleo.Reading{State: coleo.Initializing, Rule: "spawned", Since: now},
	}
	r.measureAsDrawn()
	r.picture = rules.NewPicture(r.screen.View(), &spec.Composer)
	r.tell(coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: r.reading})
	return r
}

// FromStart says that the agent CLI is seen from its start on.
func (r *Reader) FromStart() { r.prompt.none = true }

// Use changes the rules and forgets what the former ones found on the screen. All waiting
// times begin again. What the hook proves stays as it was.
func (r *Reader) Use(spec *rules.Spec) {
	r.spec, r.memo = spec, rules.Memo{}
	r.settlingSince, r.unknown = time.Time{}, unknown{}
}

// Reading returns the last reading.
func (r *Reader) Reading() coleo.Reading { return r.reading }

// Verdict returns what the rules say of the last picture.
func (r *Reader) Verdict() rules.Verdict { return r.verdict }

// Picture returns the last whole picture that was looked at. The rules may be asked about
// it only while nobody else uses the Reader.
func (r *Reader) Picture() *rules.Picture { return r.picture }

// Core returns the terminal's emulator. Only Feed may write output to it.
func (r *Reader) Core() *pty.Core { return r.screen }

// End returns the offset of the end of the output that the screen shows, in bytes.
func (r *Reader) End() int64 { return r.output.end }

// UpdateOpen reports whether the program is in the middle of a synchronized update.
func (r *Reader) UpdateOpen() bool { return r.screen.Frame().Open }

// StartAt says at which offset the output begins that Feed will get first.
func (r *Reader) StartAt(offset int64) { r.output.end = offset }

// measureAsDrawn makes the screen measure characters as the agent CLI does.
func (r *Reader) measureAsDrawn() {
	if r.spec.NarrowEmoji {
		r.screen.NarrowEmoji()
	}
}

// Feed writes output to the screen up to the end of a synchronized update, and returns the
// number of bytes written. whole reports whether such an update has ended.
func (r *Reader) Feed(p []byte, now time.Time) (n int, whole bool) {
	frames := r.screen.Frame().Count
	n = r.screen.Feed(p)
	r.output.end += int64(n)
	r.output.last = now
	r.recorded.witness.contradictedSince = time.Time{} // the agent CLI still draws
	if r.painting.begun.IsZero() {
		r.painting.begun = now
	}
	r.painting.whole = r.screen.Frame().Count != frames
	for _, notice := range r.screen.Notices() {
		if r.mode.screenOnly {
			continue
		}
		if r.keepNotice(notice, now); r.takeNotice(notice, now) {
			r.noteWork()
		}
	}
	return n, r.painting.whole
}

// keepNotice keeps what the program reports beside its screen, for a snapshot.
func (r *Reader) keepNotice(n pty.Notice, now time.Time) {
	if n.Kind == pty.NoticeTitle || n.Kind == pty.NoticeBell {
		// A title is on the screen, and a bell has no text.
		return
	}
	r.notices = slices.DeleteFunc(r.notices, func(h Notice) bool { return h.Kind == n.Kind })
	r.notices = append(r.notices, Notice{n.Kind, n.Text, now})
}

// Resume continues from a snapshot, as if all output before it had been fed.
func (r *Reader) Resume(s *Snapshot, now time.Time) {
	r.screen, r.output.end, r.sawPasteMode, r.notices = s.screen, s.Offset, s.Pastes, s.Notices
	r.measureAsDrawn()
	for _, n := range s.Notices {
		r.takeNotice(pty.Notice{Kind: n.Kind, Text: n.Text}, n.Time)
	}
	r.output.last, r.painting = now, painting{begun: now}
}

// Snapshot returns the present state, without what only a session knows of it. The
// Reader must not be used before the snapshot is encoded.
func (r *Reader) Snapshot(now time.Time) *Snapshot {
	return &Snapshot{Offset: r.output.end, Time: now.UTC(), Pastes: r.sawPasteMode, Notices: slices.Clone(r.notices),
		screen: r.screen}
}

// Ended says that the program has ended, with its exit code.
func (r *Reader) Ended(now time.Time, code int, how string) {
	view := r.screen.View()
	r.become(now, coleo.Reading{State: coleo.Dead, Rule: "process", Known: true, ExitCode: &code}, how, &view)
}

// witnesses returns the witnesses beside the screen, those of the program first.
func (r *Reader) witnesses() []*witness {
	out := make([]*witness, 0, len(r.protocols)+2)
	for _, b := range r.protocols {
		out = append(out, r.inband[b.kind])
	}
	return append(out, &r.hook.witness, &r.recorded.witness)
}

// Explain returns the evidence behind the reading.
func (r *Reader) Explain(now time.Time) coleo.Explanation {
	x := coleo.Explanation{
		Reading: r.reading, Now: now, Rows: r.verdict.Rows, Screen: r.screen.View(),
		Witnesses: []coleo.Witness{{Name: "screen", State: r.verdict.State, Rule: r.verdict.Rule,
			Detail: r.verdict.Detail, Time: r.lookedAt}},
	}
	for _, v := range r.witnesses() {
		if !v.used() {
			continue
		}
		x.Witnesses = append(x.Witnesses, v.asWitness())
		if v.claims() != "" && v.isContradicted(r.verdict.State) {
			x.Disagreement = v.disagreement(r.verdict.State)
		}
	}
	return x
}

// Transcript returns the rows above the composer on the last picture, after those that
// have scrolled off.
func (r *Reader) Transcript() []string {
	return append(r.screen.History(HistoryRows), r.picture.Above()...)
}

// TranscriptOf returns the rows above the composer on a screen, after those that have
// scrolled off.
func TranscriptOf(screen *pty.Core, composer *rules.Composer) []string {
	return append(screen.History(HistoryRows), rules.NewPicture(screen.View(), composer).Above()...)
}

// Echoes returns how often the transcript shows how a prompt begins, including the rows
// that have scrolled off.
func (r *Reader) Echoes(prompt string) int { return rules.CountEchoes(r.Transcript(), prompt) }

// EchoedSince reports whether the transcript shows the prompt's beginning more often than
// before, which is the result of an earlier Echoes. It returns false in two cases. While
// the next picture is being drawn, a row of the last one may also have scrolled off, and
// would count twice. Without a composer, the composer's own text may be half drawn, and
// would look like an echo.
func (r *Reader) EchoedSince(prompt string, before int) bool {
	return r.painting.begun.IsZero() && r.picture.Composer != nil && r.Echoes(prompt) > before
}
