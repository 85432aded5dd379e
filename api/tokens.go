package api

import (
	"cmp"
	"context"
	"net/http"

	"coleo.dev"
	"coleo.dev/api/token"
	"coleo.dev/changes"
	"coleo.dev/wire"
)

// This file contains the routes for operator tokens, and the checks that limit what a caller with a token
// can start. It also notes what such a caller has prompted.

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

// CloneThread refuses an existing arm to a caller with an operator token. The token could have prompted the
// conversation, and the arm has the permissions that a person gave it.
func (f fence) CloneThread(ctx context.Context, harness, id string, q wire.SpawnRequest) (wire.SpawnReply, error) {
	if operatorOf(ctx) != nil {
		if _, err := f.Arm(ctx, q.Name); coleo.ErrorCode(err) != coleo.ENotFound {
			return wire.SpawnReply{}, cmp.Or(err, error(coleo.Errorf(coleo.EConflict, "with an operator token, a copy of a "+
				"conversation needs a new arm, and the name %q is taken: nothing was started", q.Name)))
		}
	}
	return f.startWithNote(ctx, q, func(ctx context.Context, q wire.SpawnRequest) (wire.SpawnReply, error) {
		return f.Brain.CloneThread(ctx, harness, id, q)
	})
}

// SwitchThread counts as a prompt, because the token chooses the conversation, and could have prompted it before.
func (f fence) SwitchThread(ctx context.Context, word, conversation string) (wire.SpawnReply, error) {
	if err := f.notePrompter(ctx, word); err != nil {
		return wire.SpawnReply{}, err
	}
	return f.Brain.SwitchThread(ctx, word, conversation)
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
