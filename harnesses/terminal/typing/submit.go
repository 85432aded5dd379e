package typing

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
)

// startTimeout is how long the agent CLI may take to begin work after submit. On a
// loaded machine, one agent CLI took 18 s for the first prompt of its process.
const startTimeout = 30 * time.Second

// submission is a prompt whose submit key was pressed.
type submission struct {
	text   string
	time   time.Time // a time before the key was pressed
	queued bool      // the pressed key is the key that queues prompts
	before before
}

// before is what was seen on the picture just before the submit key was pressed.
type before struct {
	busy     bool // the agent CLI was working
	workSeen int  // number of looks that had seen the agent CLI at work
	echoes   int  // how many times the transcript showed the prompt
	rows     int  // rows of the composer; 0 if there was no composer
}

// submit presses the submit key while the composer holds the text. It then waits for
// proof that the agent CLI took the prompt. It presses the key a second time only if it
// saw that the agent CLI ignored the first one: see resubmit and submitAgain.
func (t *Typist) submit(ctx context.Context, left *unseen, text string, also Check) (coleo.Receipt, error) {
	receipt := coleo.Receipt{ID: coleo.NewUUID(), Time: time.Now(), Text: text}
	sent, at, err := t.pressSubmit(ctx, submission{text: text, time: receipt.Time}, also)
	var refusal *coleo.Error
	switch {
	case err == nil:
	case coleo.Wanted(ctx) != nil:
		return coleo.Receipt{}, t.unsubmittedError()
	case errors.As(err, &refusal) && refusal.Code == coleo.EBlocked:
		return coleo.Receipt{}, unsubmittedAt(refusal.Dialog)
	default:
		return coleo.Receipt{}, err
	}
	receipt.Offset, receipt.Cursor = at.Offset, at.Cursor
	submitted := reading.Submission{Text: text, Command: also != nil, Time: sent.time}
	t.view.Update(func(r *reading.Reader) bool { r.Submitted(submitted, time.Now()); return false })
	defer t.view.Update(func(r *reading.Reader) bool { r.PromptDecided(); return true })
	outcome := t.awaitTaken(ctx, sent)
	if outcome == undecided && also == nil && !sent.before.busy && coleo.Wanted(ctx) == nil {
		outcome = t.submitAgain(ctx, sent)
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

// unsettledError returns the error for a prompt whose submit key was pressed when a dialog
// opened. What became of the prompt shows when the dialog has been answered.
func (t *Typist) unsettledError(s submission) error {
	return peek(t.view, func(r *reading.Reader) error {
		r.PromptUnsettled(s.before.echoes)
		e := coleo.Errorf(coleo.EUnsettled, "a dialog opened while the prompt was submitted: whether %s has taken it shows "+
			"when the dialog has been answered, and the arm's events then tell; do not send it again before", t.Spec().Title)
		e.Dialog = r.Reading().Dialog
		return e
	})
}

// errChanged makes pressSubmit decide again whether to submit, and with which key.
var errChanged = errors.New("work has begun or ended meanwhile, or may come to a dialog")

// pressSubmit presses the submit key while the composer holds the text. A dialog is
// open before it is drawn, and the submit key would answer that dialog. So while the
// agent CLI works, pressSubmit uses the key that queues prompts, if the harness has
// such a key. When the hook has just reported a tool, pressSubmit waits to see whether
// the tool opens a dialog.
func (t *Typist) pressSubmit(ctx context.Context, s submission, also Check) (submission, At, error) {
	for {
		t.view.Await(ctx, reading.ToolAsks, func(r *reading.Reader) bool { return !r.MayAsk(time.Now()) })
		names, queue := t.Spec().Keys.Submit, t.Spec().Keys.Queue
		s.queued = queue != "" && peek(t.view, works)
		if s.queued {
			names = queue
		}
		seen, at, err := sequenceWhile(ctx, t, names, func(r *reading.Reader) (before, error) {
			if r.MayAsk(time.Now()) || queue != "" && works(r) != s.queued {
				return before{}, errChanged
			}
			if err := t.maySubmit(r, s, also); err != nil {
				return before{}, err
			}
			return beforeSubmit(r, s.text), nil
		})
		if s.before = seen; !errors.Is(err, errChanged) || ctx.Err() != nil {
			return s, at, err
		}
	}
}

// works reports whether the screen shows work.
func works(r *reading.Reader) bool { return r.Verdict().State.Working() }

// beforeSubmit returns what the picture shows before the submit key is pressed.
func beforeSubmit(r *reading.Reader, text string) before {
	out := before{busy: r.Reading().State.Working(), workSeen: r.WorkSeen(), echoes: r.Echoes(text)}
	if c := r.Picture().Composer; c != nil {
		out.rows = c.Rows()
	}
	return out
}

// safelyQueues reports whether a prompt can be submitted during work. As far as Coleo
// can know, the prompt must not answer a dialog that is not drawn yet. There is no such
// danger if the harness has a key that only queues prompts, or if the hook does not
// report tools before their dialogs. In any other case the hook must have reported
// something before.
func (t *Typist) safelyQueues(r *reading.Reader) bool {
	return t.Spec().Keys.Queue != "" || !t.Spec().Hook.ReportsTools() || r.HookUsed()
}

// maySubmit is the check that is made before submit. It passes if the composer holds
// the text. It also passes if the composer is taller than the screen and the text ends
// at the cursor.
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
	if !tall && !picture.Holds(s.text) {
		// Gemini CLI 0.61.0 draws such a picture just before a dialog.
		return Passing{coleo.Errorf(coleo.EPromptLost, "the composer changed before the prompt was submitted")}
	}
	if also != nil {
		return also(r)
	}
	return nil
}

// outcome is what is known about a prompt after its submit key was pressed.
type outcome struct {
	taken    bool // the agent CLI has begun to work, and the composer no longer holds the text
	reported bool // the hook has named the prompt
	blocked  bool // a dialog is open that proves nothing; the user must answer it
}

// undecided is the outcome of a prompt of which nothing is known.
var undecided outcome

func (o outcome) decided() bool { return o.taken || o.blocked }

// awaitTaken waits for proof that the agent CLI has taken a prompt. It returns what is
// known at the end. It stops waiting when a dialog opens that proves nothing.
func (t *Typist) awaitTaken(ctx context.Context, s submission) outcome {
	if ignored := t.ignored(s); ignored != nil {
		if last, ok := t.resubmit(ctx, s, ignored); !ok {
			return outcome{reported: last.reported}
		}
	}
	return t.awaitDecided(ctx, s)
}

// awaitDecided waits until the outcome of a prompt is decided. It returns the last outcome.
func (t *Typist) awaitDecided(ctx context.Context, s submission) outcome {
	last, _ := await(ctx, t.view, startTimeout+digesting(s.text), func(r *reading.Reader) (outcome, bool) {
		now := outcomeOf(r, s)
		return now, now.decided()
	})
	return last
}

// outcomeOf returns what the newest picture and the hook tell about a prompt.
func outcomeOf(r *reading.Reader, s submission) outcome {
	reported := r.PromptReported(s.text, s.time)
	begun := reported || r.WorkSeen() > s.before.workSeen || r.Picture().Echoes(s.text) ||
		r.EchoedSince(s.text, s.before.echoes)
	return outcome{taken: begun && released(r, s, reported), reported: reported, blocked: asks(r)}
}

// released reports whether the composer no longer holds a prompt.
//
// A picture without a composer may be half drawn. It may also show a dialog that came
// before the prompt was read. So such a picture counts only in two cases. It shows work
// that only this prompt can have caused, or it shows a dialog after the hook has
// reported the prompt.
//
// During work, a composer counts as released only if it is empty. A composer with
// another text may really be a box of the transcript that looks like a composer. Gemini
// CLI 0.61.0 shows such a box just before a dialog takes the composer's place.
func released(r *reading.Reader, s submission, reported bool) bool {
	dialog, picture := r.Verdict().Dialog, r.Picture()
	switch {
	case dialog != nil:
		return reported || !s.before.busy && dialog.Kind.OfWork()
	case picture.Composer != nil:
		return picture.Released(s.text) && (!s.before.busy || picture.Composer.Empty)
	default:
		return !s.before.busy && works(r) && !picture.Overflows(s.text)
	}
}
