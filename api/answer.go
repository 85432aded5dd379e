package api

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/api/token"
)

// This file contains the checks that limit what a caller with an operator token can answer.

// mostAncestors is the maximum number of ancestors that ancestors looks up. No arm has that many ancestors.
const mostAncestors = 100

// ancestors returns the id of an arm, followed by the ids of all arms from which its prompts can come: its parent, the
// arm whose task it has received by a hand-over, the arms whose conversation it has or has copied, and their
// ancestors. The ancestors of an arm that was removed are unknown.
func (f fence) ancestors(ctx context.Context, arm coleo.Arm) ([]string, error) {
	all, err := f.Brain.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	line := []string{arm.ID}
	for at := 0; at < len(line) && at < mostAncestors; at++ {
		if at > 0 {
			var err error
			arm, err = f.Arm(ctx, line[at])
			if coleo.ErrorCode(err) == coleo.ENotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		above, err := armsAbove(arm, all)
		if err != nil {
			return nil, err
		}
		for _, id := range above {
			if id != "" && !slices.Contains(line, id) {
				line = append(line, id)
			}
		}
	}
	return line, nil
}

// armsAbove returns the ids of the arms from which the arm has its first prompt, or prompts of its conversation. An
// id can be "". `all` contains all arms.
func armsAbove(arm coleo.Arm, all []coleo.Arm) ([]string, error) {
	c, err := arm.DecodeConfig()
	if err != nil {
		return nil, err
	}
	ids := []string{arm.ParentArmID}
	if c.Succeeds != nil {
		ids = append(ids, c.Succeeds.ID)
	}
	conversations := []string{arm.SessionID}
	if c.ForkedFrom != nil {
		ids = append(ids, c.ForkedFrom.Arm)
		conversations = append(conversations, c.ForkedFrom.Conversation)
	}
	for _, other := range all {
		if other.ID != arm.ID && other.SessionID != "" && slices.Contains(conversations, other.SessionID) {
			ids = append(ids, other.ID)
		}
	}
	return ids, nil
}

// mayAnswer returns the arm with the given id or name. It returns EForbidden if the caller has an
// operator token that must not answer dialogs of this arm.
func (f fence) mayAnswer(ctx context.Context, word string) (coleo.Arm, error) {
	arm, err := f.Arm(ctx, word)
	o := operatorOf(ctx)
	if o == nil || err != nil {
		return arm, err
	}
	if o.token.RunsIn == "" && !o.place.seen {
		return arm, coleo.Errorf(coleo.EForbidden, "Coleo does not see in which arm this program runs, so its token answers "+
			"nothing: call over the socket on Linux, or make a token with `coleo token create --runs-in`; nothing was done")
	}
	target, err := f.ancestors(ctx, arm)
	if err != nil {
		return arm, err
	}
	var own []string
	if id := o.token.RunsIn; id != "" {
		runsIn, err := f.Arm(ctx, id)
		switch {
		case coleo.ErrorCode(err) == coleo.ENotFound:
			own = []string{id}
		case err != nil:
			return arm, err
		default:
			if own, err = f.ancestors(ctx, runsIn); err != nil {
				return arm, err
			}
		}
	}
	return arm, token.CheckAnswer(own, target, arm.Name, f.tokens.Prompted(o.token))
}

// checkAnswer checks an answer of a caller with an operator token. The answer must name the dialog,
// because otherwise the answer could go to a later dialog. An answer in words counts as a prompt.
func (f fence) checkAnswer(ctx context.Context, word, dialog string, d coleo.Decision) (coleo.Arm, error) {
	arm, err := f.mayAnswer(ctx, word)
	if err != nil || operatorOf(ctx) == nil {
		return arm, err
	}
	switch {
	case dialog == "":
		return arm, coleo.Errorf(coleo.EInvalid, "with an operator token, name what you answer by its id; nothing was done")
	case d.Choice == coleo.ChoiceApproveAlways:
		return arm, coleo.Errorf(coleo.EForbidden, "an operator token approves what is asked now, and nothing later: "+
			"approve without always; nothing was done")
	case d.Key != "":
		return arm, coleo.Errorf(coleo.EForbidden, "an operator token never types a key; nothing was done")
	case d.Words != "":
		return arm, f.notePrompter(ctx, arm.ID)
	}
	return arm, nil
}

// checkNumbers checks an answer that chooses options by their numbers. `open` is the dialog that the arm's row shows,
// and `named` is the dialog that the answer names. A dialog that asks for an approval can have an option that also
// approves what comes later, and Coleo cannot always recognize that option. So a token can only approve or deny such
// a dialog.
func checkNumbers(open *coleo.Dialog, named coleo.Fingerprint, d coleo.Decision) error {
	switch {
	case d.Option == 0 && len(d.Options) == 0:
		return nil
	case open == nil || open.Fingerprint != named:
		return coleo.Errorf(coleo.EStale, "the arm does not show this dialog now, so nothing was done: look again")
	case open.Kind.Approves():
		return coleo.Errorf(coleo.EForbidden, "an operator token approves what is asked now, and nothing later, and an "+
			"option can do both: approve or deny without a number; nothing was done")
	}
	return nil
}

func (f fence) Respond(ctx context.Context, word string, dialog coleo.Fingerprint, d coleo.Decision,
	lease string) error {
	arm, err := f.checkAnswer(ctx, word, string(dialog), d)
	if err == nil && operatorOf(ctx) != nil {
		err = checkNumbers(arm.Dialog, dialog, d)
	}
	if err != nil {
		return err
	}
	return f.Brain.Respond(ctx, word, dialog, d, lease)
}

func (f fence) AnswerSuspension(ctx context.Context, word, id string, d coleo.Decision,
	by string) (coleo.Suspension, error) {
	if operatorOf(ctx) == nil {
		return f.Brain.AnswerSuspension(ctx, word, id, d, by)
	}
	waiting, err := f.Suspensions(ctx, word)
	if err != nil {
		return coleo.Suspension{}, err
	}
	var named coleo.Suspension
	if id != "" {
		if named, err = coleo.SuspensionNamed(waiting, id); err != nil {
			return coleo.Suspension{}, err
		}
		word = named.Arm
		if kind := named.Kind; kind == coleo.SuspensionSubarm || kind == coleo.SuspensionMessage {
			return coleo.Suspension{}, coleo.Errorf(coleo.EForbidden, "only a person decides about subarms and about messages "+
				"between arms; nothing was done")
		}
	}
	arm, err := f.checkAnswer(ctx, word, id, d)
	if err == nil && named.Kind == coleo.SuspensionDialog {
		err = checkNumbers(named.Dialog, coleo.Fingerprint(id), d)
	}
	if err != nil {
		return coleo.Suspension{}, err
	}
	return f.Brain.AnswerSuspension(ctx, arm.ID, id, d, by)
}

func (f fence) SwitchMode(ctx context.Context, word string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	if operatorOf(ctx) != nil {
		arm, err := f.mayAnswer(ctx, word)
		if err == nil {
			err = f.checkMode(ctx, arm, o)
		}
		if err != nil {
			return coleo.ModeSwitch{}, err
		}
	}
	return f.Brain.SwitchMode(ctx, word, o)
}

// checkMode returns EForbidden if the agent CLI asks less often in the mode of the order.
func (f fence) checkMode(ctx context.Context, arm coleo.Arm, o coleo.ModeOrder) error {
	modes, err := f.Modes(ctx, arm.ID)
	if err != nil {
		return err
	}
	asksLess := slices.ContainsFunc(modes.List, func(m coleo.Mode) bool {
		return m.ID == o.Mode && (m.Confirm || m.Permission == coleo.PermissionEdit || m.Permission == coleo.PermissionAll)
	})
	if asksLess || o.Allow {
		return coleo.Errorf(coleo.EForbidden, "an operator token gives no arm a mode in which the agent CLI asks less "+
			"often: only a person does that; nothing was done")
	}
	return nil
}
