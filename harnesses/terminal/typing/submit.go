package typing

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/timelimit"
)

// startTimeout is how long the agent CLI may take to begin work after the submit key. On a loaded
// machine, one agent CLI took 18 s for the first prompt of its process.
const startTimeout = 30 * time.Second

// submission is a prompt whose submit key was pressed.
type submission struct {
	text    string
	compact bool      // the text is the command that shortens the conversation
	time    time.Time // a time just before the submit key was pressed
	queued  bool      // the queue key was pressed
	before  before
}

// before contains what the Reader knew just before the submit key was pressed.
type before struct {
	busy bool // the agent CLI was working
	// some source reported work: the screen, the record, the hook or an escape sequence
	atWork   bool
	ended    time.Time // when a turn had last ended; see reading.Reader.TurnEnded
	workSeen int       // how often work or a dialog had been seen
	echoes   int       // how many times the transcript showed the prompt
	rows     int       // rows of the composer; 0 if there was no composer
}

// submit presses the submit key if the composer contains the text, and then waits for proof that the
// agent CLI took the prompt. It presses the key a second time only if the screen shows that the agent
// CLI ignored the first press: see submitIfIgnored and submitAfterProbe.
func (t *Typist) submit(ctx context.Context, left *unseen, text string, also Check) (coleo.Receipt, error) {
	receipt := coleo.Receipt{ID: coleo.NewUUID(), Text: text}
	sent, at, err := t.pressSubmit(ctx, submission{text: text, compact: also != nil}, also)
	var refusal *coleo.Error
	switch {
	case err == nil:
	case timelimit.Check(ctx) != nil:
		return coleo.Receipt{}, t.unsubmittedError()
	case errors.As(err, &refusal) && refusal.Code == coleo.EBlocked:
		return coleo.Receipt{}, unsubmittedAt(refusal.Dialog)
	default:
		return coleo.Receipt{}, err
	}
	receipt.Time, receipt.Offset, receipt.Cursor = sent.time, at.Offset, at.Cursor
	submitted := reading.Submission{Text: text, Command: also != nil, Time: sent.time}
	t.view.Update(func(r *reading.Reader) bool { r.Submitted(submitted, time.Now()); return false })
	defer t.view.Update(func(r *reading.Reader) bool { r.PromptDecided(); return true })
	outcome := t.awaitTaken(ctx, sent)
	if outcome == undecided && also == nil && !sent.before.busy && timelimit.Check(ctx) == nil {
		outcome = t.submitAfterProbe(ctx, sent)
	}
	switch {
	case outcome.blocked && !outcome.taken && !outcome.reported:
		left.text = text
		return coleo.Receipt{}, t.unsettledError(sent)
	case !outcome.taken && !outcome.reported:
		left.text = text
		return coleo.Receipt{}, t.lostError(ctx, "it did not start to work on it")
	case sent.before.busy:
		receipt.Proof = coleo.ProofQueued
	case outcome.reported:
		receipt.Proof = coleo.ProofReported
	default:
		receipt.Proof = coleo.ProofStarted
	}
	return receipt, nil
}

// unsettledError returns the error for a prompt whose submit key was pressed at about the time when a
// dialog opened. The screen can show whether the prompt has arrived only after somebody has answered the
// dialog.
func (t *Typist) unsettledError(s submission) error {
	return peek(t.view, func(r *reading.Reader) error {
		r.PromptUnsettled(s.before.echoes)
		e := coleo.Errorf(coleo.EUnsettled, "a dialog opened while the prompt was submitted: whether %s has taken it shows "+
			"when the dialog has been answered, and the arm's events then say so; do not send it again before", t.Spec().Title)
		e.Dialog = r.Reading().Dialog
		return e
	})
}

// errChanged makes pressSubmit start again. Then pressSubmit decides anew whether it may submit, and with
// which key.
var errChanged = errors.New("work has begun or ended meanwhile, or may come to a dialog")

// pressSubmit presses the submit key if the composer contains the text. The submit key must never answer a
// dialog, but an agent CLI accepts keys for a dialog before it draws the dialog. So pressSubmit follows
// these rules:
//
//   - While any source reports that the agent CLI works, pressSubmit presses the queue key, if the harness
//     has one. The screen alone is not enough, because some screens show no sign of work just before a
//     dialog.
//   - If the hook has just reported a tool, pressSubmit first waits until the tool can no longer open a
//     dialog.
//
// The Reader holds back new entries of the agent CLI's record while the key is pressed. After a success, the
// caller must call Reader.Submitted, which adds these entries.
func (t *Typist) pressSubmit(ctx context.Context, s submission, also Check) (submission, At, error) {
	for {
		t.view.Await(ctx, reading.ToolAsks, func(r *reading.Reader) bool { return !r.MayOpenDialog(time.Now()) })
		names, queue := t.Spec().Keys.Submit, t.Spec().Keys.Queue
		s.queued = queue != "" && peek(t.view, mayWork)
		if s.queued {
			names = queue
		}
		pressedOn, at, err := sequenceWhile(ctx, t, names, func(r *reading.Reader) (before, error) {
			if r.MayOpenDialog(time.Now()) || queue != "" && mayWork(r) != s.queued {
				return before{}, errChanged
			}
			if err := t.maySubmit(r, s, also); err != nil {
				return before{}, err
			}
			r.HoldEntries()
			// Take the time as late as possible, because an earlier prompt with the same text may begin its
			// turn before the key is pressed.
			s.time = time.Now()
			return beforeSubmit(r, s.text), nil
		})
		if err != nil {
			t.view.Update(func(r *reading.Reader) bool { r.ReleaseEntries(time.Now()); return true })
		}
		if s.before = pressedOn; !errors.Is(err, errChanged) || ctx.Err() != nil {
			return s, at, err
		}
	}
}

// isWorking reports whether the screen shows work.
func isWorking(r *reading.Reader) bool { return r.Verdict().State.Working() }

// mayWork reports whether the screen, the record, the hook or an escape sequence reports that the agent CLI
// works.
func mayWork(r *reading.Reader) bool { return isWorking(r) || r.AtWork() }

// beforeSubmit returns what the Reader knows before the submit key is pressed.
func beforeSubmit(r *reading.Reader, text string) before {
	out := before{busy: r.Reading().State.Working(), atWork: r.AtWork(), ended: r.TurnEnded(),
		workSeen: r.WorkSeen(), echoes: r.Echoes(text)}
	if c := r.Picture().Composer; c != nil {
		out.rows = c.Rows()
	}
	return out
}

// safelyQueues reports whether Coleo may submit a prompt while the agent CLI works. The submit key could
// answer a dialog that is not drawn yet. Coleo assumes that this cannot happen in these cases:
//
//   - The harness has a key that only queues prompts.
//   - The harness's hook does not report tools before their dialogs.
//   - The hook does report tools, and has reported something. So it works, and would report a tool before
//     its dialog.
func (t *Typist) safelyQueues(r *reading.Reader) bool {
	return t.Spec().Keys.Queue != "" || !t.Spec().Hook.ReportsTools() || r.HookUsed()
}

// maySubmit is the check for the submit key. It passes if the composer contains only the text. If the
// composer is taller than the screen, it is enough that the screen shows the end of the text right before
// the cursor.
func (t *Typist) maySubmit(r *reading.Reader, s submission, also Check) error {
	picture := r.Picture()
	if s.queued && picture.Folded() {
		return coleo.Errorf(coleo.EBusy,
			"%s is working, and cannot queue a prompt that it folds to a note: wait until it is idle, "+
				"or interrupt it; the prompt was not submitted",
			t.Spec().Title)
	}
	tall := r.Verdict().Dialog == nil && picture.Overflows(s.text)
	if err := t.mayPrompt(r); err != nil && !tall {
		return err
	}
	if !tall && (!picture.Holds(s.text) || picture.Joined(s.text)) {
		// This error is transient: Gemini CLI 0.61.0 shows a composer without the text just before it draws a
		// dialog.
		return TransientError{coleo.Errorf(coleo.EPromptLost, "the composer changed before the prompt was submitted")}
	}
	if also != nil {
		return also(r)
	}
	return nil
}

// outcome is what is known about a prompt after its submit key was pressed.
type outcome struct {
	taken    bool // the agent CLI has begun to work, and its composer no longer contains the text
	reported bool // the hook or the record has named the prompt
	blocked  bool // a dialog is open; only the user can answer it
}

// undecided is the outcome if nothing is known about the prompt.
var undecided outcome

func (o outcome) isDecided() bool { return o.taken || o.blocked }

// awaitTaken waits for proof that the agent CLI has taken a prompt, or until a dialog opens. It returns the
// last outcome.
func (t *Typist) awaitTaken(ctx context.Context, s submission) outcome {
	if ignored := t.checkIgnored(s); ignored != nil {
		if last, ok := t.submitIfIgnored(ctx, s, ignored); !ok {
			return outcome{reported: last.reported}
		}
	}
	return t.awaitDecided(ctx, s)
}

// awaitDecided waits until the outcome of a prompt is decided, and returns the last outcome.
func (t *Typist) awaitDecided(ctx context.Context, s submission) outcome {
	last, _ := await(ctx, t.view, startTimeout+stallTime(s.text), func(r *reading.Reader) (outcome, bool) {
		now := outcomeOf(r, s)
		return now, now.isDecided()
	})
	return last
}

// outcomeOf returns what the newest picture, the hook and the record together show about a prompt.
func outcomeOf(r *reading.Reader, s submission) outcome {
	reported := r.PromptReported(s.text, s.time) || s.compact && r.CompactionReported(s.time)
	begun := reported || r.WorkSeen() > s.before.workSeen || r.Picture().Echoes(s.text) ||
		r.EchoedSince(s.text, s.before.echoes)
	return outcome{taken: begun && isReleased(r, s, reported), reported: reported, blocked: isAsking(r)}
}

// isReleased reports whether the picture proves that the agent CLI took the prompt out of its composer.
//
// If the picture has no composer, it may be half drawn, or show a dialog that opened before the agent CLI
// read the prompt. Such a picture is proof only in these cases:
//
//   - It shows work, or a dialog that only work opens, and the agent CLI was not working before. Only this
//     prompt can have caused that.
//   - It shows a dialog, and the hook or the record has named the prompt.
//
// If the picture has a composer, the composer must not contain the prompt. If the agent CLI was working
// before, the composer must even be empty. A composer with another text may be a box of the transcript.
// Gemini CLI 0.61.0 shows such a box just before a dialog replaces the composer.
func isReleased(r *reading.Reader, s submission, reported bool) bool {
	dialog, picture := r.Verdict().Dialog, r.Picture()
	switch {
	case dialog != nil:
		return reported || !s.before.busy && dialog.Kind.OfWork()
	case picture.Composer != nil:
		return picture.Released(s.text) && (!s.before.busy || picture.Composer.Empty)
	default:
		return !s.before.busy && isWorking(r) && !picture.Overflows(s.text)
	}
}
