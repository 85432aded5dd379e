package terminal

import (
	"context"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
)

// submission is a prompt whose submit key was pressed, and what was seen before that.
type submission struct {
	text     string
	at       time.Time
	rows     int  // of the composer
	busy     bool // the agent CLI was working
	worked   int  // number of looks that had seen it working
	echoed   int  // how often the transcript showed the prompt
	queued   bool // the key that was pressed queues prompts
	reported bool // its hook has reported the prompt
}

// submit presses the submit key on a composer that holds the text, and waits for proof
// that the agent CLI took it. It presses the key a second time only when the first one
// was seen to be ignored: see ignored.
func (s *session) submit(ctx context.Context, text string, also check) (coleo.Receipt, error) {
	r := coleo.Receipt{ID: coleo.NewUUID(), Time: time.Now(), Text: text}
	was := &submission{text: text, at: r.Time}
	s.mu.Lock()
	was.busy, was.worked, r.Offset = s.Reading().State.Working(), s.WorkSeen(), s.End()
	s.mu.Unlock()
	still := func(f *rules.Picture, v rules.Verdict) error {
		if err := s.maySubmit(f, v, text, also); err != nil {
			return err
		}
		r.Offset, r.Cursor, was.worked, was.echoed, was.rows = s.End(), s.log.Cursor(), s.WorkSeen(), s.Echoes(text), 0
		if f.Composer != nil {
			was.rows = f.Composer.Rows()
		}
		return nil
	}
	if err := s.pressSubmit(ctx, was, still); err != nil {
		if coleo.Wanted(ctx) != nil {
			err = s.unsubmitted()
		}
		return coleo.Receipt{}, err
	}
	s.submitted()
	defer s.release()
	if !s.awaitTaken(ctx, was) {
		s.unseen = text
		return coleo.Receipt{}, s.lost(ctx, "it did not start to work on it")
	}
	switch {
	case was.busy:
		r.Proof = coleo.ProofQueued
	case was.reported:
		r.Proof = coleo.ProofReported
	default:
		r.Proof = coleo.ProofStarted
	}
	return r, nil
}

// errTurned makes pressSubmit choose again whether to submit, and by which key.
var errTurned = errors.New("work has begun or ended meanwhile, or may come to a dialog")

// pressSubmit presses the submit key while a check passes. A dialog is open before it is
// drawn, and that key would answer it. So while the agent CLI works, pressSubmit uses the
// key that queues, where the harness has one. When the hook has just reported a tool, it
// waits to see whether that tool opens a dialog.
func (s *session) pressSubmit(ctx context.Context, was *submission, still check) error {
	for {
		s.await(ctx, reading.ToolAsks, func() bool { return !s.MayAsk(time.Now()) })
		names, queue := s.rules().Keys.Submit, s.rules().Keys.Queue
		s.mu.Lock()
		was.queued = queue != "" && s.Verdict().State.Working()
		s.mu.Unlock()
		if was.queued {
			names = queue
		}
		err := s.pressIf(ctx, names, func(f *rules.Picture, v rules.Verdict) error {
			s.listen(time.Now())
			if s.MayAsk(time.Now()) || queue != "" && v.State.Working() != was.queued {
				return errTurned
			}
			if was.queued && f.Folded() {
				return coleo.Errorf(coleo.EBusy,
					"%s is working, and cannot queue a prompt that it folds to a note: wait until it is idle, or interrupt it; the prompt was not submitted", s.rules().Title)
			}
			return still(f, v)
		})
		if !errors.Is(err, errTurned) || ctx.Err() != nil {
			return err
		}
	}
}

// safelyQueues reports whether a prompt submitted during work cannot answer a dialog that
// is not drawn yet, as far as Coleo can know. It cannot where a key of its own queues
// prompts, or where the hook does not report tools before their dialogs. Otherwise the
// hook must have reported something before. The caller holds mu.
func (s *session) safelyQueues() bool {
	return s.rules().Keys.Queue != "" || !s.rules().Hook.ReportsTools() || s.HookUsed()
}

// pressIf types keys one by one while a check passes.
func (s *session) pressIf(ctx context.Context, names string, ok check) error {
	keys, err := rules.KeySequence(names)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.typeIf(ctx, ok, key); err != nil {
			return err
		}
	}
	return nil
}

// maySubmit is the check before submit. It passes when the composer holds the text, or is
// taller than the screen and ends with it.
func (s *session) maySubmit(f *rules.Picture, v rules.Verdict, text string, also check) error {
	tall := v.Dialog == nil && f.Overflows(text)
	if err := s.mayPrompt(f, v); err != nil && !tall {
		return err
	}
	if !tall && !f.Holds(text) {
		return coleo.Errorf(coleo.EPromptLost, "the composer changed before the prompt was submitted")
	}
	if also != nil {
		return also(f, v)
	}
	return nil
}

// awaitTaken waits for proof that the agent CLI has taken a prompt, and reports whether
// there is proof. It stops waiting when a dialog opens that proves nothing: the user must
// answer that dialog.
func (s *session) awaitTaken(ctx context.Context, was *submission) bool {
	proven := false
	settled := func() bool {
		proven = s.taken(was)
		return proven || s.asks()
	}
	if ignored := s.ignored(was); ignored != nil && !s.submitAgain(ctx, was, ignored, settled) {
		return was.reported
	}
	s.await(ctx, startTimeout+digesting(was.text), settled)
	return proven || was.reported
}

// asks reports whether a dialog is open. The caller holds mu.
func (s *session) asks() bool { return s.Reading().Dialog != nil && s.Verdict().Dialog != nil }

// taken reports whether the agent CLI has visibly taken a prompt: it has begun, and the
// composer no longer holds the text. The caller holds mu.
func (s *session) taken(was *submission) bool {
	was.reported = s.PromptReported(was.text, was.at)
	begun := was.reported || s.WorkSeen() > was.worked || s.Picture().Echoes(was.text) || s.EchoedSince(was.text, was.echoed)
	return begun && s.letGo(was)
}

// letGo reports whether the composer no longer holds a prompt.
//
// A picture without a composer may be half drawn. It may also show a dialog that came
// before the prompt was read. So it counts only for work that nothing but this prompt can
// have caused, or in a dialog once the hook has reported the prompt.
//
// During work a composer counts only when it is empty. One with another text may be a box
// of the transcript that looks like a composer. Gemini CLI 0.61.0 shows such a box while
// a dialog is about to take the composer's place. The caller holds mu.
func (s *session) letGo(was *submission) bool {
	dialog := s.Verdict().Dialog
	switch {
	case dialog != nil:
		return was.reported || !was.busy && dialog.Kind.OfWork()
	case s.Picture().Composer != nil:
		return s.Picture().Released(was.text) && (!was.busy || s.Picture().Composer.Empty)
	default:
		return !was.busy && s.Verdict().State.Working() && !s.Picture().Overflows(was.text)
	}
}

// submitted makes the session read processing until the screen shows what became of the
// prompt.
func (s *session) submitted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Submitted(time.Now())
}

func (s *session) release() {
	s.mu.Lock()
	s.ShowsPrompt()
	s.mu.Unlock()
	s.relook()
}
