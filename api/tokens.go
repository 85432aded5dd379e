package api

import (
	"context"
	"net/http"
	"slices"

	"coleo.dev"
	"coleo.dev/api/token"
	"coleo.dev/changes"
	"coleo.dev/wire"
)

// This file contains the routes for operator tokens, and the checks that limit what a caller with a token
// can answer and start.

type tokenInput struct {
	Body wire.TokenRequest
}

type tokenOnly struct {
	Name string `path:"name" doc:"Name of the token"`
}

type revokeReply struct {
	Revoked bool `json:"revoked"`
}

// tokenRoutes adds the routes with which a person creates and revokes operator tokens.
func (s *Server) tokenRoutes(d table) {
	change(d, operation{post, "/api/tokens", "create-token",
		"Make an operator token; the answer has its value, once (not with a token)", http.StatusCreated},
		personOnly(s.createToken), newTokenDetail)
	add(d, operation{get, "/api/token", "own-token", "Show what the operator token of the caller allows", 0}, s.ownToken)
	add(d, operation{get, "/api/tokens", "list-tokens", "List the operator tokens (not with a token)", 0},
		personOnly(s.listTokens))
	change(d, operation{del, "/api/tokens/{name}", "revoke-token",
		"Revoke an operator token; its open streams end at once (not with a token)", 0},
		personOnly(s.revokeToken), tokenDetail)
}

// personOnly wraps f so that it refuses callers with a token of any kind.
func personOnly[I, O any](f func(context.Context, *I) (*reply[O], error)) func(context.Context, *I) (*reply[O], error) {
	return func(ctx context.Context, in *I) (*reply[O], error) {
		switch callerOf(ctx).Kind {
		case coleo.CallerSocket, coleo.CallerCookie:
			return f(ctx, in)
		case coleo.CallerToken, coleo.CallerOperator:
		}
		return nil, coleo.Errorf(coleo.EForbidden,
			"only a person does that, with the `coleo` command or on the page: a token never makes or removes "+
				"tokens, schedules or webhooks")
	}
}

func (s *Server) createToken(ctx context.Context, in *tokenInput) (*reply[wire.NewToken], error) {
	bounds := coleo.OperatorToken{}
	for _, name := range in.Body.Arms {
		arm, err := s.brain.Arm(ctx, name)
		if err != nil {
			return nil, err
		}
		if bounds.Arms == nil {
			bounds.Arms = map[string]string{}
		}
		bounds.Arms[arm.ID] = arm.Name
	}
	if in.Body.RunsIn != "" {
		arm, err := s.brain.Arm(ctx, in.Body.RunsIn)
		if err != nil {
			return nil, err
		}
		bounds.RunsIn = arm.ID
	}
	made, value, err := s.tokens.Make(ctx, in.Body, bounds)
	return &reply[wire.NewToken]{wire.NewToken{Token: made, Value: value}}, err
}

func (s *Server) ownToken(ctx context.Context, _ *struct{}) (*reply[coleo.OperatorToken], error) {
	o := operatorOf(ctx)
	if o == nil {
		return nil, coleo.Errorf(coleo.EUnauthorized, "this request shows no operator token")
	}
	return &reply[coleo.OperatorToken]{o.token}, nil
}

func (s *Server) listTokens(context.Context, *struct{}) (*reply[wire.TokensReply], error) {
	return &reply[wire.TokensReply]{wire.TokensReply{Tokens: list(s.tokens.List())}}, nil
}

func (s *Server) revokeToken(ctx context.Context, in *tokenOnly) (*reply[revokeReply], error) {
	err := s.tokens.Revoke(ctx, in.Name)
	return &reply[revokeReply]{revokeReply{err == nil}}, err
}

// mostAncestors is the maximum number of ancestors that ancestors looks up. No arm has that many ancestors.
const mostAncestors = 100

// ancestors returns the id of an arm, followed by the ids of all arms from which its prompts can come: its parent, the
// arm whose task it has received by a hand-over, the arm whose conversation it has copied, and their ancestors. The
// ancestors of an arm that was removed are unknown.
func (f fence) ancestors(ctx context.Context, arm coleo.Arm) ([]string, error) {
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
		above, err := armsAbove(arm)
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

// armsAbove returns the ids of the arms from which the arm has its first prompt. An id can be "".
func armsAbove(arm coleo.Arm) ([]string, error) {
	c, err := arm.DecodeConfig()
	if err != nil {
		return nil, err
	}
	ids := []string{arm.ParentArmID}
	if c.Succeeds != nil {
		ids = append(ids, c.Succeeds.ID)
	}
	if c.ForkedFrom != nil {
		ids = append(ids, c.ForkedFrom.Arm)
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

// notePrompter must be called before a prompt is sent. If the caller has an operator token, notePrompter
// stores a note that the token prompts the arm.
func (f fence) notePrompter(ctx context.Context, word string) error {
	o := operatorOf(ctx)
	if o == nil {
		return nil
	}
	arm, err := f.Arm(ctx, word)
	if err != nil {
		return err
	}
	return f.tokens.NotePrompted(ctx, o.token, arm.ID, "")
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

func (f fence) Respond(ctx context.Context, word string, dialog coleo.Fingerprint, d coleo.Decision,
	lease string) error {
	if _, err := f.checkAnswer(ctx, word, string(dialog), d); err != nil {
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
	at := slices.IndexFunc(waiting, func(s coleo.Suspension) bool { return s.ID == id })
	if id != "" && at < 0 {
		return coleo.Suspension{}, coleo.Errorf(coleo.ENotFound, "nothing with the id %q waits for an answer", id)
	}
	if at >= 0 {
		word = waiting[at].Arm
		if kind := waiting[at].Kind; kind == coleo.SuspensionSubarm || kind == coleo.SuspensionMessage {
			return coleo.Suspension{}, coleo.Errorf(coleo.EForbidden, "only a person decides about subarms and about messages "+
				"between arms; nothing was done")
		}
	}
	arm, err := f.checkAnswer(ctx, word, id, d)
	if err != nil {
		return coleo.Suspension{}, err
	}
	return f.Brain.AnswerSuspension(ctx, arm.ID, id, d, by)
}

func (f fence) SwitchMode(ctx context.Context, word string, o coleo.ModeOrder) (coleo.ModeSwitch, error) {
	if operatorOf(ctx) != nil {
		if _, err := f.mayAnswer(ctx, word); err != nil {
			return coleo.ModeSwitch{}, err
		}
	}
	return f.Brain.SwitchMode(ctx, word, o)
}

func (f fence) Prompt(ctx context.Context, word string, p coleo.Prompt, lease string) (coleo.Receipt, error) {
	if err := f.notePrompter(ctx, word); err != nil {
		return coleo.Receipt{}, err
	}
	return f.Brain.Prompt(ctx, word, p, lease)
}

func (f fence) Steer(ctx context.Context, word string, p coleo.Prompt) (coleo.Steering, error) {
	if err := f.notePrompter(ctx, word); err != nil {
		return coleo.Steering{}, err
	}
	return f.Brain.Steer(ctx, word, p)
}

func (f fence) Queue(ctx context.Context, word string, o coleo.QueueOrder) (coleo.QueueReport, error) {
	if o.Step == coleo.QueueAdded || o.Step == coleo.QueueEdited {
		if err := f.notePrompter(ctx, word); err != nil {
			return coleo.QueueReport{}, err
		}
	}
	return f.Brain.Queue(ctx, word, o)
}

// Comment counts a comment as a prompt, because anybody may send the arm's comments later.
func (f fence) Comment(ctx context.Context, word string, one changes.Comment) ([]changes.Comment, error) {
	if err := f.notePrompter(ctx, word); err != nil {
		return nil, err
	}
	return f.Brain.Comment(ctx, word, one)
}

func (f fence) SendComments(ctx context.Context, word string) (changes.Sent, error) {
	if err := f.notePrompter(ctx, word); err != nil {
		return changes.Sent{}, err
	}
	return f.Brain.SendComments(ctx, word)
}

func (f fence) Spawn(ctx context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
	return f.startWithNote(ctx, q, f.Brain.Spawn)
}

func (f fence) CloneThread(ctx context.Context, harness, id string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	return f.startWithNote(ctx, q, func(ctx context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
		return f.Brain.CloneThread(ctx, harness, id, q)
	})
}

// startWithNote calls order, which starts an arm. If the caller has an operator token, startWithNote first
// stores a note that this token has started the arm. For a new arm, the note contains the arm's name,
// because the arm gets its id only during the start. For an arm that already exists, startWithNote stores a
// note only if the request contains a prompt.
func (f fence) startWithNote(ctx context.Context, q wire.SpawnRequest,
	order func(context.Context, wire.SpawnRequest) (wire.SpawnReply, error)) (wire.SpawnReply, error) {
	o := operatorOf(ctx)
	if o == nil {
		return order(ctx, q)
	}
	start := func(ctx context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
		out, err := order(ctx, q)
		if o.token.Limited() {
			out.Warning = "" // no warning is sent, because it can name an arm that the token does not reach
		}
		return out, err
	}
	arm, err := f.Arm(ctx, q.Name)
	switch {
	case err == nil && !o.token.Reaches(arm.ID, arm.Labels):
		return wire.SpawnReply{}, coleo.Errorf(coleo.EConflict, "the name %q is taken: nothing was started", q.Name)
	case err == nil && q.InitialPrompt == "":
		return start(ctx, q)
	case err == nil:
		err = f.notePrompter(ctx, q.Name)
	case coleo.ErrorCode(err) == coleo.ENotFound:
		// Meanwhile somebody else may have created the arm. Serve then returns an error because of the labels, which
		// only a new arm can get.
		q.Labels = o.token.Labels
		err = f.tokens.NotePrompted(ctx, o.token, token.StartedNote(q.Name), "")
	}
	if err != nil {
		return wire.SpawnReply{}, err
	}
	out, err := start(ctx, q)
	// Ignore an error of NotePrompted: the note with the arm's name then stays, and still counts.
	if out.Arm.ID != "" {
		_ = f.tokens.NotePrompted(context.WithoutCancel(ctx), o.token, out.Arm.ID, token.StartedNote(q.Name))
	}
	return out, err
}
