package reading

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// HistoryRows is how many of the rows that have scrolled off the screen still count as part of the
// transcript. Almost every answer has fewer rows.
const HistoryRows = 2000

// Reader turns a program's output into readings. It keeps the screen, the verdict of the rules on the
// screen, and the reading. The reading combines this verdict with what the hook, the record and the escape
// sequences claim. A Reader has no clock: its caller passes the time. It therefore reads a recording in the
// same way as the output of a live session. A Reader is not safe for concurrent use.
type Reader struct {
	spec *rules.Spec
	emit func(coleo.Change) // called with each change

	began time.Time // when the Reader was created

	screen       *pty.Core
	output       output
	painting     painting
	sawPasteMode bool // bracketed paste was on at least once

	picture  *rules.Picture          // the last complete picture
	cell     func(x, y int) pty.Cell // the cells of the last picture
	lookedAt time.Time               // when the Reader looked at the last picture
	resized  *resized                // the screen has another size, and the program has not drawn since; else nil
	memo     rules.Memo              // results of conditions on earlier pictures
	verdict  rules.Verdict           // the verdict on the last picture
	dialogs  appearances
	strange  strangeDialog // a dialog that no rule knows, or that only a rule of a pack knows
	packed   packData

	protocols []protocol
	inband    map[pty.NoticeKind]*witness // the claims of the program's escape sequences
	hook      hookReports                 // the claims of the program's hook
	recorded  recordEvidence              // the claims of the program's own record of the conversation
	// the work in the background that continues after the turn, as an escape sequence has reported it
	background string
	notices    []Notice // the newest notice of each kind

	reading       coleo.Reading
	shownMode     string    // the agent CLI's mode on the last picture; "" if none is shown
	settlingSince time.Time // since when the screen shows idle or error that the Reader has not accepted yet; else zero
	news          news
	unknown       unknown
	redraws       redraws
	prompt        prompt
	ready         readiness
	turn          newestTurn
	mode          mode
}

// output stores how much of the program's output has been read.
type output struct {
	end  int64     // offset of the end of the output that the screen shows
	last time.Time // when output last came
}

// unknown describes a screen that no rule recognizes.
type unknown struct {
	since   time.Time // since when no rule has recognized the screen; zero if a rule recognizes it
	emitted bool      // the Reader has emitted a change about this screen
}

// prompt contains what is known about the newest prompt that Coleo typed.
type prompt struct {
	none      bool      // the Reader has seen the agent CLI from its start, and no prompt was submitted yet
	undecided bool      // a prompt was submitted, and the screen does not show yet whether it has arrived
	sentAt    time.Time // when the newest prompt was submitted; zero once work on it was seen, or is not expected
	workSeen  int       // how often work or a dialog was seen
	oldError  oldError  // the error on the screen when the newest prompt was submitted
	unsettled *unsettled
}

// mode describes how a Reader is used.
type mode struct {
	screenOnly bool // the claims of the program, its hook and its record do not count
	noProcess  bool // no process runs, so its end cannot be seen
	ended      bool // no more output will come
}

// New returns a Reader of an empty screen. The size of the screen is in columns and rows. The
// Reader calls the function `emit` with each change. New itself makes the first of these calls.
func New(spec *rules.Spec, cols, rows int, now time.Time, emit func(coleo.Change)) *Reader {
	r := &Reader{
		spec: spec, emit: emit, screen: pty.New(cols, rows), memo: rules.Memo{}, dialogs: newAppearances(),
		protocols: protocols(), inband: newWitnesses(), hook: newHookReports(&spec.Hook),
		recorded: newRecorded(), began: now, packed: packData{memo: rules.Memo{}},
		reading: coleo.Reading{State: coleo.Initializing, Rule: "spawned", Since: now},
	}
	r.measureAsDrawn()
	r.picture = rules.NewPicture(r.screen.View(), &spec.Composer)
	r.emit(coleo.Change{Time: now, Kind: coleo.ChangeState, Reading: r.reading})
	return r
}

// SetFromStart tells the Reader that it reads all output since the start of the agent CLI.
func (r *Reader) SetFromStart() { r.prompt.none = true }

// SetSpec replaces the rules. Two measurements begin again: for how long no rule has recognized the screen,
// and for how long idle or error has lasted. SetSpec does not change the evidence from the hook.
func (r *Reader) SetSpec(spec *rules.Spec) {
	r.spec, r.memo, r.packed.memo = spec, rules.Memo{}, rules.Memo{}
	r.settlingSince, r.unknown = time.Time{}, unknown{}
}

// Reading returns the last reading.
func (r *Reader) Reading() coleo.Reading { return r.reading }

// ShownMode returns the id of the agent CLI's mode on the last picture, or "" if the picture shows
// none.
func (r *Reader) ShownMode() string { return r.shownMode }

// Verdict returns the verdict of the rules on the last picture.
func (r *Reader) Verdict() rules.Verdict { return r.verdict }

// Picture returns the last complete picture. The caller may apply rules to it only while nobody
// else uses the Reader.
func (r *Reader) Picture() *rules.Picture { return r.picture }

// Core returns the terminal's emulator. Only Feed may write output to it, and only Resize may change its size
// after the first look.
func (r *Reader) Core() *pty.Core { return r.screen }

// End returns the offset up to which the Reader has read the output, in bytes. The screen shows the output
// up to there.
func (r *Reader) End() int64 { return r.output.end }

// UpdateOpen reports whether the program is in the middle of a synchronized update.
func (r *Reader) UpdateOpen() bool { return r.screen.Frame().Open }

// StartAt sets the offset of the first output that Feed will receive.
func (r *Reader) StartAt(offset int64) { r.output.end = offset }

// measureAsDrawn makes the screen use the same character widths as the agent CLI.
func (r *Reader) measureAsDrawn() {
	if r.spec.NarrowEmoji {
		r.screen.NarrowEmoji()
	}
}

// Feed writes output to the screen, up to the end of the first synchronized update in it. It
// returns the number of bytes written, and whether a synchronized update has ended.
func (r *Reader) Feed(p []byte, now time.Time) (n int, whole bool) {
	frames := r.screen.Frame().Count
	n = r.screen.Feed(p)
	r.output.end += int64(n)
	r.output.last = now
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

// keepNotice keeps a notice, an escape sequence of the program, for the next snapshot.
func (r *Reader) keepNotice(n pty.Notice, now time.Time) {
	if n.Kind == pty.NoticeTitle || n.Kind == pty.NoticeBell {
		// The snapshot needs no titles and no bells: its screen contains the title, and a bell has no text.
		return
	}
	r.notices = slices.DeleteFunc(r.notices, func(h Notice) bool { return h.Kind == n.Kind })
	r.notices = append(r.notices, Notice{n.Kind, n.Text, now})
}

// Resume continues from a snapshot, as if the Reader had read all output before it.
func (r *Reader) Resume(s *Snapshot, now time.Time) {
	r.screen, r.output.end, r.sawPasteMode, r.notices = s.screen, s.Offset, s.Pastes, s.Notices
	r.measureAsDrawn()
	for _, n := range s.Notices {
		r.takeNotice(pty.Notice{Kind: n.Kind, Text: n.Text}, n.Time)
	}
	r.output.last, r.painting = now, painting{begun: now}
}

// Snapshot returns the present state of the Reader, without the fields that only a session can
// fill. The caller must encode the snapshot before it uses the Reader again, because both share the
// screen.
func (r *Reader) Snapshot(now time.Time) *Snapshot {
	return &Snapshot{Offset: r.output.end, Time: now.UTC(), Pastes: r.sawPasteMode, Notices: slices.Clone(r.notices),
		screen: r.screen}
}

// Ended records that the program has ended with the given exit code. The last reading names `rule`, and the
// change contains `note`.
func (r *Reader) Ended(now time.Time, rule string, code int, note string) {
	view := r.screen.View()
	if r.reading.State == coleo.Initializing && r.spec.HasNoConversation(strings.Join(view.Lines, "\n")) {
		rule = coleo.RuleNoConversation
	}
	r.setReading(now, coleo.Reading{State: coleo.Dead, Rule: rule, Known: true, ExitCode: &code}, note, &view)
}

// witnesses returns all witnesses except the screen: first the escape sequences, then the hook and
// the record.
func (r *Reader) witnesses() []*witness {
	out := make([]*witness, 0, len(r.protocols)+2)
	for _, b := range r.protocols {
		out = append(out, r.inband[b.kind])
	}
	return append(out, &r.hook.witness, &r.recorded.witness)
}

// Explain returns the evidence for the reading.
func (r *Reader) Explain(now time.Time) coleo.Explanation {
	x := coleo.Explanation{
		Reading: r.reading, Now: now, Rows: r.verdict.Rows, Screen: r.screen.View(),
		Witnesses: []coleo.Witness{{Name: "screen", State: r.verdict.State, Rule: r.verdict.Rule,
			Detail: r.verdict.Detail, Time: r.lookedAt}},
	}
	if r.turn.blind {
		x.Blind = blindNote
	}
	x.Redrawn = r.redrawnText(now)
	if x.Version = r.packed.running; r.Unjudged() != "" {
		x.Unjudged = fmt.Sprintf("nobody has tested the rules of %s with version %s", r.spec.Name, r.Unjudged())
	}
	for _, v := range r.witnesses() {
		if !v.hasReported() {
			continue
		}
		x.Witnesses = append(x.Witnesses, v.asWitness())
		if v.claims() != "" && v.isContradicted(r.verdict.State) {
			x.Disagreement = v.disagreement(r.verdict.State)
		}
	}
	return x
}

// Transcript returns the newest rows that have scrolled off the screen, at most HistoryRows,
// followed by the rows above the composer on the last picture.
func (r *Reader) Transcript() []string {
	return append(r.history(), r.picture.Above()...)
}

// TranscriptOf returns the newest rows that have scrolled off a screen, at most HistoryRows,
// followed by the rows above the screen's composer.
func TranscriptOf(screen *pty.Core, composer *rules.Composer) []string {
	return append(screen.History(HistoryRows), rules.NewPicture(screen.View(), composer).Above()...)
}

// Echoes returns how many times the transcript shows the beginning of a prompt.
func (r *Reader) Echoes(prompt string) int { return rules.CountEchoes(r.Transcript(), prompt) }

// EchoedSince reports whether the transcript now shows the beginning of a prompt more often than
// oldCount, the result of an earlier call of Echoes.
//
// It always returns false in two cases:
//
//   - The next picture is being drawn. A row of the last picture may already have scrolled off the screen,
//     and would count twice.
//   - The picture has no composer. The composer's own text may be half drawn, and would look like an echo.
func (r *Reader) EchoedSince(prompt string, oldCount int) bool {
	return r.painting.begun.IsZero() && r.picture.Composer != nil && r.Echoes(prompt) > oldCount
}
