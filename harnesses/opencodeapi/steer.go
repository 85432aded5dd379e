package opencodeapi

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/timelimit"
)

const (
	// startedTimeout is how long the server may take to begin work after it has accepted a prompt.
	// On a loaded machine, the first prompt of a process of OpenCode 1.18.33 took 18 s.
	startedTimeout = 40 * time.Second
	// failureSettle is how long Coleo waits after a failed turn before it sends a prompt. OpenCode 1.18.33
	// accepts a prompt right after a failed turn, but then forgets it.
	failureSettle = 1500 * time.Millisecond
	// goneTimeout is how long the server may still list a request as open after Coleo has answered it.
	goneTimeout = 10 * time.Second
	// abortTimeout is how long an interrupt may take. OpenCode 1.18.33 took 0.16 s.
	abortTimeout = 10 * time.Second
)

// readyServer returns the server. If Coleo cannot send anything to the server now, the error is
// EExited, EUnavailable or EBusy, with the reason.
func (s *Session) readyServer() (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reading.State == coleo.Dead:
		return nil, coleo.Errorf(coleo.EExited, "the server has ended: recover the arm first")
	case s.facts.trouble != "":
		return nil, coleo.Errorf(coleo.EUnavailable, "nothing was sent: %s; 'coleo arm recover' starts a new server",
			s.facts.trouble)
	case s.server == nil || !s.facts.known:
		return nil, coleo.Errorf(coleo.EBusy, "%s is still starting: wait until it is idle", s.h.spec.Title)
	}
	return s.server, nil
}

// part, model and promptBody are parts of request bodies.
type (
	part struct {
		Type string `json:"type"`
		Text string `json:"text"`

		// The following fields are only in messages that the server reports.
		Synthetic bool `json:"synthetic,omitempty"` // OpenCode itself wrote the text
		Auto      bool `json:"auto,omitempty"`      // OpenCode itself, and not the user, began the compaction
	}
	model struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	}
	promptBody struct {
		Parts []part `json:"parts"`
		Model *model `json:"model,omitempty"`
	}
)

func (s *Session) model() *model {
	if s.own.Provider == "" || s.own.Model == "" {
		return nil
	}
	return &model{ProviderID: s.own.Provider, ModelID: s.own.Model}
}

// SendPrompt sends a prompt. It returns when the server has begun to work on the prompt. If
// p.Interrupt is set, SendPrompt first interrupts the running turn. It returns one of these errors:
//
//   - EInvalid if the prompt is empty
//   - EBlocked if a dialog is open
//   - EBusy if the server is starting or working
//   - EExited if the server has ended
//   - EPromptLost if the server did not begin to work, whether or not it has answered
//   - EUnavailable, EUnauthorized, ENotFound or EInternal if the server cannot be asked or refuses
func (s *Session) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	if strings.TrimSpace(p.Text) == "" {
		return coleo.Receipt{}, coleo.Errorf(coleo.EInvalid, "an empty prompt cannot be sent")
	}
	if p.Interrupt {
		if _, err := s.Interrupt(ctx); err != nil {
			return coleo.Receipt{}, err
		}
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	srv, err := s.mayBegin()
	if err != nil {
		return coleo.Receipt{}, err
	}
	defer s.deliver()()
	before := s.factsNow()
	r := coleo.Receipt{ID: rand.Text(), Time: time.Now(), Text: p.Text, Cursor: s.log.Cursor(),
		Proof: coleo.ProofStarted}
	body := promptBody{Parts: []part{{Type: "text", Text: p.Text}}, Model: s.model()}
	if err := timelimit.Check(ctx); err != nil {
		return coleo.Receipt{}, err
	}
	err = srv.do(ctx, "POST", "/session/"+s.Handle().Conversation+"/prompt_async", body, nil)
	if err != nil && !mayHaveArrived(err) {
		return coleo.Receipt{}, err
	}
	// If there was no answer, only the events of the server can prove that it has taken the prompt.
	if s.awaitTurn(ctx, srv, &r, before) {
		return r, nil
	}
	if err != nil {
		return coleo.Receipt{}, coleo.Errorf(coleo.EPromptLost, "nothing proves that %s has taken the prompt: %w",
			s.h.spec.Title, err)
	}
	return coleo.Receipt{}, coleo.Errorf(coleo.EPromptLost,
		"%s accepted the prompt, but did not begin to work on it", s.h.spec.Title)
}

// awaitTurn waits until the server begins the turn of the prompt with the receipt r, and reports whether it
// did. `before` are the facts before the prompt was sent. The stream of events can break, and the turn can
// begin and end before the next stream. So after each new stream, awaitTurn looks for a reply to the prompt.
// If there is a reply, the turn is over. awaitTurn then sets r.Cursor to 0, so that the present reading
// counts as later than the prompt.
func (s *Session) awaitTurn(ctx context.Context, srv *server, r *coleo.Receipt, before facts) bool {
	begun := func(f facts) bool { return f.busied > before.busied || f.failures > before.failures }
	for end := time.Now().Add(startedTimeout); ; {
		hit := s.await(ctx, time.Until(end), func(f facts) bool { return begun(f) || f.resyncs > before.resyncs })
		now := s.factsNow()
		if begun(now) {
			return true
		}
		// Ask for the state after the reply, because the turn may have begun only just now.
		if _, isReplied, err := s.findPrompt(ctx, *r); err == nil && isReplied && s.resync(srv) == nil {
			if !begun(s.factsNow()) {
				r.Cursor = 0
			}
			return true
		}
		if !hit {
			return false
		}
		before.resyncs = now.resyncs
	}
}

func (s *Session) factsNow() facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.facts
}

// mayBegin returns the server if a turn can begin now. Otherwise it returns EExited, EBusy or
// EBlocked with the reason. After a failed turn, it first waits for failureSettle.
func (s *Session) mayBegin() (*server, error) {
	for {
		srv, err := s.readyServer()
		if err != nil {
			return nil, err
		}
		now := s.State()
		if now.State == coleo.WaitingApproval {
			return nil, coleo.Blocked(now.Dialog)
		}
		if now.State.Working() {
			return nil, coleo.Errorf(coleo.EBusy, "%s is working: wait until it is idle, or interrupt it", s.h.spec.Title)
		}
		settle := failureSettle - time.Since(now.Since)
		if now.State != coleo.Failed || settle <= 0 {
			return srv, nil
		}
		if !s.waitWhileOpen(settle) { // after the wait, the state can be another one
			return nil, coleo.Errorf(coleo.EExited, "the server has ended: recover the arm first")
		}
	}
}

// Respond answers an open permission or question. It returns when the dialog is closed. If a
// request has several questions, Respond stores the answers until it has the answer to the last
// question. Then it sends all answers to the server in one request. It returns one of these errors:
//
//   - EStale if the dialog is not open
//   - EInvalid or EUnsupported if the decision does not fit the dialog
//   - ETimeout if the dialog stays open
func (s *Session) Respond(ctx context.Context, dialog coleo.Fingerprint, d coleo.Decision) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	srv, err := s.readyServer()
	if err != nil {
		return err
	}
	open, ok := s.open(dialog)
	if !ok {
		return coleo.Errorf(coleo.EStale, "that dialog is no longer open: nothing was sent")
	}
	if open.question && d.Choice != coleo.ChoiceDeny {
		answer, err := answerTo(open.dialog(), d)
		if err != nil {
			return err
		}
		open.answers = append(slices.Clone(open.answers), answer)
		if len(open.answers) < len(open.dialogs) {
			s.update(func(f *facts) { f.copyAnswers(open) })
			return nil
		}
	}
	path, body, err := reply(open, d)
	if err != nil {
		return err
	}
	if err := srv.command(ctx, path, body, nil); err != nil {
		return err
	}
	isGone := func(f facts) bool { now := f.byID(open.id); return now == nil || !now.same(open) }
	if !s.await(ctx, goneTimeout, isGone) {
		return coleo.Errorf(coleo.ETimeout, "the dialog %q is still open %s after it was answered",
			open.dialogs[len(open.dialogs)-1].Title, goneTimeout)
	}
	return nil
}

// open returns the request whose next dialog has the given fingerprint, or false if there is none.
func (s *Session) open(dialog coleo.Fingerprint) (openRequest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.facts.requests {
		if a.dialog().Fingerprint == dialog {
			return a, true
		}
	}
	return openRequest{}, false
}

// answerTo returns the answer to a question: the labels of the chosen options, and the user's
// words.
func answerTo(question coleo.Dialog, d coleo.Decision) ([]string, error) {
	chosen := slices.Clone(d.Options)
	if d.Option > 0 {
		chosen = append(chosen, d.Option)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	var answer []string
	for _, n := range chosen {
		if n < 1 || n > len(question.Options) {
			return nil, coleo.Errorf(coleo.EInvalid, "nothing was sent: the question %q has options 1 to %d, not %d",
				question.Title, len(question.Options), n)
		}
		answer = append(answer, question.Options[n-1])
	}
	if d.Words != "" {
		answer = append(answer, d.Words)
	}
	switch {
	case d.Choice != coleo.ChoiceAnswer || len(answer) == 0:
		return nil, coleo.Errorf(coleo.EInvalid, "nothing was sent: a question takes an option from 1 to %d, or words",
			len(question.Options))
	case len(answer) > 1 && !question.Several:
		return nil, coleo.Errorf(coleo.EInvalid, "nothing was sent: the question "+
			"%q takes one option or words, not %d answers",
			question.Title, len(answer))
	}
	return answer, nil
}

// reply returns the path and the body of the HTTP request that answers a permission or a question
// with the given decision.
func reply(a openRequest, d coleo.Decision) (path string, body any, err error) {
	if a.question {
		if d.Choice == coleo.ChoiceDeny {
			return "/question/" + a.id + "/reject", struct{}{}, nil
		}
		return "/question/" + a.id + "/reply", map[string]any{"answers": a.answers}, nil
	}
	words := map[coleo.Choice]string{coleo.ChoiceApprove: "once", coleo.ChoiceApproveAlways: "always",
		coleo.ChoiceDeny: "reject"}
	word, ok := words[d.Choice]
	if !ok {
		return "", nil, coleo.Errorf(coleo.EUnsupported, "a permission is approved or denied, not answered")
	}
	answer := map[string]string{"reply": word}
	if d.Words != "" {
		answer["message"] = d.Words
	}
	return "/permission/" + a.id + "/reply", answer, nil
}

// Interrupt aborts the running turn, and returns when the server is idle. It does nothing if no
// turn is running. The error is ETimeout if the server did not stop in time.
func (s *Session) Interrupt(ctx context.Context) (out coleo.Interruption, err error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	out.Was = s.State().State
	defer func() {
		now := s.State()
		out.State, out.Rule = now.State, now.Rule
	}()
	srv, err := s.readyServer()
	if err != nil {
		return out, err
	}
	if !out.Was.Working() && out.Was != coleo.WaitingApproval {
		return out, nil
	}
	if err := srv.command(ctx, "/session/"+s.Handle().Conversation+"/abort", struct{}{}, nil); err != nil {
		return out, err
	}
	out.Pressed, out.Time = []string{"abort"}, time.Now()
	if !s.await(ctx, abortTimeout, func(f facts) bool { return f.status == "idle" }) {
		return out, coleo.Errorf(coleo.ETimeout, "%s did not stop within %s of the interrupt", s.h.spec.Title,
			abortTimeout)
	}
	// The dialogs of the turn are closed now. If resync fails, an event reports that later.
	_ = s.resync(srv)
	return out, nil
}
