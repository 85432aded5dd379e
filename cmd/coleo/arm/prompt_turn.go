package arm

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/checked"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/wire"
)

// This file waits for the turn of a prompt, for arm prompt --wait.

const (
	// parkedTime is how long Turn.explain waits for serve to learn that an arm is parked, which means that the arm
	// waits after a limit. The host agent reports the parking only just after the end of the turn.
	parkedTime = 2 * time.Second
	// parkedEvery is the time between two checks of whether the arm is parked.
	parkedEvery = 50 * time.Millisecond
	// policyTime is how long policyAnswers waits for the decision of an arm's policy. The answer of a policy takes
	// at most 30 s.
	policyTime = 40 * time.Second
	// policyEvery is the time between two checks of what the policy has decided.
	policyEvery = 100 * time.Millisecond
)

// Turn is the JSON output of arm prompt --wait, for a delivered prompt. If the prompt's turn has
// not ended, Outcome is empty.
type Turn struct {
	Delivered bool          `json:"delivered"`
	Run       string        `json:"run"`
	Cleared   string        `json:"cleared,omitempty"` // see coleo.Receipt.Cleared
	Dialog    *coleo.Dialog `json:"dialog,omitempty"`
	// Suspensions contains the questions that the arm's model has asked with Coleo's tools.
	Suspensions []coleo.Suspension `json:"suspensions,omitempty"`
	coleo.RunEnd
}

// AwaitTurn waits until the turn of a delivered prompt ends or the arm asks a person. runID is the id
// of the prompt's run. If limit is not 0, AwaitTurn waits at most that long. If the turn did not finish,
// the error contains the reason.
func AwaitTurn(ctx context.Context, client *apiclient.Client, name, runID string, limit time.Duration) (Turn, error) {
	return awaitTurn(ctx, client, lasting(ctx, client, name), runID, limit)
}

func awaitTurn(ctx context.Context, client *apiclient.Client, on target, runID string,
	limit time.Duration) (Turn, error) {
	name := on.name
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if limit > 0 {
		waiting, cancel = context.WithTimeout(waiting, limit)
		defer cancel()
	}
	asking, ended := make(chan coleo.Arm, 1), make(chan error, 1)
	go func() {
		arm, err := client.WaitArm(waiting, on.id, coleo.WaitingApproval)
		for err == nil && policyAnswers(waiting, client, arm) {
			arm, err = client.WaitArm(waiting, on.id, coleo.WaitingApproval)
		}
		if err == nil {
			asking <- arm
		}
	}()
	t := Turn{Delivered: true, Run: runID}
	var end coleo.RunEnd
	go func() {
		var err error
		end, err = client.WaitRun(waiting, runID)
		ended <- err
	}()
	var err error
	select {
	case arm := <-asking:
		t.Status, t.Outcome, t.Dialog = arm.State, coleo.OutcomeAsks, arm.Dialog
		t.Suspensions = arm.Suspensions
		err = t.failure(name)
	case err = <-ended:
		if err == nil {
			t.RunEnd = end
			err = t.explain(ctx, client, on, t.failure(name))
		} else if ctx.Err() != nil {
			err = coleo.Errorf(coleo.EInternal, "the prompt was delivered, and this verb no longer waits for its turn; "+
				"the turn continues: 'coleo arm wait %s' waits for it, and 'coleo arm interrupt %s' stops it", name, name)
		} else if waiting.Err() != nil || limit > 0 && coleo.ErrorCode(err) == coleo.ETimeout {
			// Serve has its own limit for this wait, and can return ETimeout just before the
			// caller's limit.
			err = coleo.Errorf(coleo.ETimeout,
				"the prompt was delivered, and arm %s is still working after %s: 'coleo arm wait %s' continues to wait",
				name, limit.Round(time.Millisecond), name)
		}
	}
	return t, withDelivered(err, true)
}

// policyAnswers reports whether the dialog of an arm needs no person, because the arm's policy answers it, or because
// it is gone. It waits for the policy's decision.
func policyAnswers(ctx context.Context, client *apiclient.Client, arm coleo.Arm) bool {
	d := arm.Dialog
	if d == nil || d.Kind != coleo.DialogPermission || arm.SpawnConfig().Policy != coleo.PolicyRead {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, policyTime)
	defer cancel()
	f := wire.EventFilter{Arm: arm.ID, Kinds: []coleo.EventKind{coleo.EventPolicy}, Limit: eventPage}
	for {
		list, next, err := client.Events(ctx, f)
		if err != nil {
			return false
		}
		for _, e := range list {
			var p coleo.PolicyDecision
			if json.Unmarshal(e.Payload, &p) == nil && p.Dialog == d.Fingerprint {
				return p.Applied
			}
		}
		if f.After = next; len(list) > 0 {
			continue
		}
		now, err := client.Arm(ctx, arm.ID)
		if err != nil || now.Dialog == nil || now.Dialog.Fingerprint != d.Fingerprint {
			return err == nil
		}
		select {
		case <-time.After(policyEvery):
		case <-ctx.Done():
			return false
		}
	}
}

// awaitAnswer is like AwaitTurn, but also waits for further turns. There are further turns if the answer
// does not fit the prompt's schema, because Coleo then asks the model again. If no answer fits,
// awaitAnswer returns the last turn and EAnswerUnfit.
func awaitAnswer(ctx context.Context, client *apiclient.Client, on target, run string,
	limit time.Duration) (Turn, error) {
	began := time.Now()
	for {
		left := limit
		if limit > 0 {
			left = max(limit-time.Since(began), time.Millisecond) // at least 1 ms, because 0 would mean no limit
		}
		t, err := awaitTurn(ctx, client, on, run, left)
		if err != nil || t.Validated == nil || t.Validated.OK {
			return t, err
		}
		if run = t.Retry; run == "" {
			return t, withDelivered(coleo.Errorf(coleo.EAnswerUnfit,
				"the prompt was delivered, and its answer does not fit the schema: %s", t.Validated.Line()), true)
		}
	}
}

// text returns the part of the turn that users see: the answer. If the answer fits its schema, text
// returns only the answer's JSON.
func (t Turn) text() string {
	if t.Validated != nil && t.Validated.OK {
		if raw, err := checked.Extract(t.Answer); err == nil {
			return string(raw)
		}
	}
	return t.Answer
}

// failure returns an error that describes how the turn ended, or nil if the turn has finished.
func (t Turn) failure(name string) error {
	switch t.Outcome {
	case coleo.OutcomeAsks:
		if t.Dialog == nil && len(t.Suspensions) > 0 {
			return coleo.Errorf(coleo.ETurnAsks, "the prompt was delivered, and now the "+
				"arm asks: %q; 'coleo arm answer %s' answers it", t.Suspensions[0].Line(), name)
		}
		asked := coleo.Blocked(t.Dialog)
		e := coleo.Errorf(coleo.ETurnAsks, "the prompt was delivered, and now %s", asked.Message)
		e.Dialog = t.Dialog
		return e
	case coleo.OutcomeFailed:
		return coleo.Errorf(coleo.ETurnFailed,
			"the prompt was delivered, and its turn failed: 'coleo arm screen %s' shows the error", name)
	case coleo.OutcomeInterrupted:
		return coleo.Errorf(coleo.ETurnInterrupted,
			"the prompt was delivered, and its turn was interrupted, one of its dialogs was denied, or the arm was killed")
	case coleo.OutcomeDied:
		return coleo.Errorf(coleo.EExited,
			"the prompt was delivered, and the agent CLI ended during its turn: 'coleo arm recover %s' starts it again",
			name)
	case coleo.OutcomeUnproven:
		return coleo.Errorf(coleo.ETurnUnproven,
			"the prompt was delivered, and nothing proves that its turn has ended: 'coleo arm screen %s' shows what "+
				"the agent CLI does", name)
	case coleo.OutcomeFinished:
	}
	return nil
}

// withDelivered returns err with a note whether the prompt was delivered.
func withDelivered(err error, delivered bool) error {
	var e *coleo.Error
	if !errors.As(err, &e) {
		return err
	}
	marked := *e
	marked.Delivered = &delivered
	return &marked
}

// explain returns err, the error of a turn. If a budget or a limit of the model has ended the turn, explain
// returns an error that names this cause instead.
func (t Turn) explain(ctx context.Context, client *apiclient.Client, on target, err error) error {
	switch {
	case t.Outcome == coleo.OutcomeFailed && t.Limit != nil:
		return limitError(on.name, *t.Limit, awaitParked(ctx, client, on.id, t.Run))
	case t.Outcome == coleo.OutcomeInterrupted:
		arm, lookErr := client.Arm(ctx, on.id)
		if lookErr == nil && stoppedByBudget(arm.Budget) {
			return coleo.Errorf(coleo.ETurnInterrupted, "the prompt was delivered, and %s stopped its turn: %s",
				arm.Budget.Name(), arm.Budget.Line())
		}
	}
	return err
}

// stoppedByBudget reports whether c, the newest event about a budget, says that the budget
// stopped a turn.
func stoppedByBudget(c *coleo.BudgetChange) bool {
	return c != nil && (c.Step == coleo.BudgetReached || c.Step == coleo.BudgetInterrupted)
}

// awaitParked waits until the arm is parked because its run has met a limit. It returns what the arm waits for,
// or nil if the arm is not parked within parkedTime.
func awaitParked(ctx context.Context, client *apiclient.Client, name, run string) *coleo.Parked {
	ctx, cancel := context.WithTimeout(ctx, parkedTime)
	defer cancel()
	for {
		arm, err := client.Arm(ctx, name)
		if err == nil && arm.Queue != nil && arm.Queue.Parked != nil && arm.Queue.Parked.Run == run {
			return arm.Queue.Parked
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(parkedEvery):
		}
	}
}

// limitError returns the error of a turn that was ended by a limit of the model.
func limitError(name string, limit coleo.Limit, parked *coleo.Parked) error {
	if parked == nil {
		return coleo.Errorf(coleo.ETurnFailed, "the prompt was delivered, and its turn ended at the %s limit: %s; "+
			"'coleo arm status %s' shows what the arm does", limit.Kind, limit.Text, name)
	}
	return coleo.Errorf(coleo.ETurnFailed, "the prompt was delivered, and its turn ended at a limit; the arm is parked: "+
		"%s; 'coleo arm unpark %s' continues it now", parked.Line(), name)
}

// ifServeEnded returns an error for people if serve ended while the verb waited for the turn of a
// delivered prompt. Otherwise it returns err.
func ifServeEnded(ctx context.Context, name string, err error) error {
	if coleo.ErrorCode(err) != coleo.EUnavailable {
		return err
	}
	s, setupErr := setup.New()
	if setupErr != nil || s.ServeStopped() != nil || s.ServeAnswers(ctx) {
		return err
	}
	return withDelivered(coleo.Errorf(coleo.EUnavailable, "the prompt was delivered and its turn continues, but serve "+
		"has ended: run 'coleo up', then 'coleo arm wait %s'", name), true)
}
