package api

import (
	"context"
	"strings"

	"coleo.dev"
	"coleo.dev/wire"
)

// This file contains the routes that act on a running arm, such as prompts, interrupts, modes and answers.

// checkOf returns what Coleo checks for the prompt in a request, or nil if the request contains nothing to check.
func checkOf(b wire.PromptBody) *coleo.Check {
	if len(b.Schema) == 0 && len(b.Input) == 0 && len(b.InputSchema) == 0 {
		return nil
	}
	c := coleo.Check{Schema: b.Schema, Input: b.Input, InputSchema: b.InputSchema}
	switch {
	case b.Retries != nil:
		c.Retries = *b.Retries
	case len(b.Schema) > 0:
		c.Retries = coleo.DefaultRetries
	}
	return &c
}

type suspensionInput struct {
	ID   string `path:"id" doc:"Id of the suspension"`
	Body wire.SuspensionBody
}

type suspensionsInput struct {
	Arm string `query:"arm" doc:"Id or name of an arm; all arms if left out"`
}

type doneReply struct {
	Success bool `json:"success"`
}

func (s *Server) steerRoutes(d table) {
	s.queueRoutes(d)
	change(d, operation{post, "/api/arms/{id}/prompt", "prompt-arm",
		"Send a prompt; answers when it is proven that the agent CLI has taken it", 0}, s.prompt, promptDetail)
	change(d, operation{post, "/api/arms/{id}/compact", "compact-arm",
		"Make the agent CLI shorten its conversation; answers when it is proven to have begun", 0}, s.compact, onlyArm)
	add(d, operation{get, "/api/arms/{id}/mode", "modes-of-arm",
		"List the modes of the agent CLI, with the present mode", 0}, s.modes)
	change(d, operation{post, "/api/arms/{id}/mode", "switch-mode",
		"Switch to another mode; answers when the screen shows it", 0}, s.switchMode, wholeBody)
	change(d, operation{post, "/api/arms/{id}/model", "switch-model", "Use another model", 0}, s.switchModel, wholeBody)
	change(d, operation{post, "/api/arms/{id}/respond", "respond", "Answer one dialog", 0}, s.respond, responseDetail)
	change(d, operation{post, "/api/arms/{id}/interrupt", "interrupt-arm", "Stop the running turn", 0},
		s.interrupt, onlyArm)
	change(d, operation{post, "/api/arms/{id}/window", "open-window",
		"Open the window of an arm whose harness has one; answers when it is open", 0}, s.openWindow, wholeBody)
	change(d, operation{post, "/api/arms/{id}/lease", "lease-arm", "Take, renew or give back the right to type by hand",
		0}, s.lease, leaseDetail)
	change(d, operation{post, "/api/arms/{id}/input", "input", "Type raw keys under a lease", 0}, s.input, inputDetail)
	change(d, operation{post, "/api/arms/{id}/resize", "resize", "Resize the terminal under a lease", 0},
		s.resize, resizeDetail)
}

func (s *Server) suspensionRoutes(d table) {
	add(d, operation{get, "/api/suspensions", "list-suspensions", "List what arms wait for", 0}, s.suspensions)
	change(d, operation{post, "/api/suspensions/{id}", "answer-suspension", "Answer what an arm waits for", 0},
		s.answerSuspension, answerDetail)
	change(d, operation{post, "/api/arms/{id}/suspension", "answer-arm",
		"Answer what the arm waits for; without an id, the arm must have exactly one suspension", 0},
		s.answerArm, armAnswerDetail)
	add(d, operation{get, "/api/arms/{id}/tasks", "arm-tasks", "List the tasks that the arm's model has written", 0},
		func(ctx context.Context, in *armOnly) (*reply[wire.TasksReply], error) {
			list, err := s.brain.Tasks(ctx, in.ID)
			return &reply[wire.TasksReply]{wire.TasksReply{Tasks: orEmpty(list)}}, err
		})
}

// orEmpty returns a copy of a list. The copy of an empty list is not nil, so JSON encodes it as [].
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

func (s *Server) suspensions(ctx context.Context, in *suspensionsInput) (*reply[wire.SuspensionsReply], error) {
	list, err := s.brain.Suspensions(ctx, in.Arm)
	return &reply[wire.SuspensionsReply]{wire.SuspensionsReply{Suspensions: orEmpty(list)}}, err
}

func (s *Server) answerSuspension(ctx context.Context, in *suspensionInput) (*reply[wire.SuspensionReply], error) {
	return s.answerWith(ctx, "", in.ID, in.Body)
}

func (s *Server) answerArm(ctx context.Context,
	in *armBody[wire.SuspensionBody]) (*reply[wire.SuspensionReply], error) {
	return s.answerWith(ctx, in.ID, in.Body.ID, in.Body)
}

func (s *Server) answerWith(ctx context.Context, arm, id string,
	b wire.SuspensionBody) (*reply[wire.SuspensionReply], error) {
	d := coleo.Decision{Choice: b.Decision, Option: b.Option, Options: b.Options, Words: b.Text}
	if d.Choice == "" {
		d.Choice = coleo.ChoiceAnswer
	}
	c := callerOf(ctx)
	out, err := s.brain.AnswerSuspension(ctx, arm, id, d, strings.TrimSpace(string(c.Kind)+" "+c.ID))
	return &reply[wire.SuspensionReply]{wire.SuspensionReply{Suspension: out}}, err
}

func (s *Server) prompt(ctx context.Context, in *armBody[wire.PromptBody]) (*reply[wire.PromptReply], error) {
	p := coleo.Prompt{Text: in.Body.Prompt, Interrupt: in.Body.Interrupt, Unproven: in.Body.Unproven,
		Files: in.Body.Files, Check: checkOf(in.Body)}
	receipt, err := s.brain.Prompt(ctx, in.ID, p, in.Body.Lease)
	return &reply[wire.PromptReply]{wire.PromptReply{Success: err == nil, Receipt: receipt}}, err
}

func (s *Server) compact(ctx context.Context, in *armOnly) (*reply[wire.PromptReply], error) {
	receipt, err := s.brain.Compact(ctx, in.ID)
	return &reply[wire.PromptReply]{wire.PromptReply{Success: err == nil, Receipt: receipt}}, err
}

func (s *Server) modes(ctx context.Context, in *armOnly) (*reply[wire.Modes], error) {
	out, err := s.brain.Modes(ctx, in.ID)
	return &reply[wire.Modes]{out}, err
}

func (s *Server) switchMode(ctx context.Context, in *armBody[wire.ModeBody]) (*reply[wire.ModeReply], error) {
	out, err := s.brain.SwitchMode(ctx, in.ID, coleo.ModeOrder(in.Body))
	return &reply[wire.ModeReply]{wire.ModeReply{Success: err == nil, ModeSwitch: out}}, err
}

func (s *Server) switchModel(ctx context.Context, in *armBody[wire.ModelBody]) (*reply[wire.ModelReply], error) {
	switch {
	case in.Body.Seen && operatorOf(ctx) != nil:
		return nil, coleo.Errorf(coleo.EForbidden, "only a person can confirm that they have seen a fallback")
	case in.Body.Seen == (in.Body.Model != ""):
		return nil, coleo.Errorf(coleo.EInvalid, `give either "model" or "seen"`)
	}
	out, err := s.brain.SwitchModel(ctx, in.ID, coleo.ModelOrder(in.Body))
	return &reply[wire.ModelReply]{wire.ModelReply{Success: err == nil, ModelSwitch: out}}, err
}

func (s *Server) respond(ctx context.Context, in *armBody[wire.RespondBody]) (*reply[doneReply], error) {
	b := in.Body
	d := coleo.Decision{Choice: b.Choice, Option: b.Option, Options: b.Options, Words: b.Words, Key: b.Key}
	return doneReplyOf(s.brain.Respond(ctx, in.ID, b.Dialog, d, b.Lease))
}

func (s *Server) interrupt(ctx context.Context, in *armOnly) (*reply[wire.InterruptReply], error) {
	out, err := s.brain.Interrupt(ctx, in.ID)
	return &reply[wire.InterruptReply]{wire.InterruptReply{Success: err == nil, Interruption: out}}, err
}

func (s *Server) openWindow(ctx context.Context, in *armBody[*wire.WindowRequest]) (*reply[wire.ArmReply], error) {
	var q wire.WindowRequest
	if in.Body != nil {
		q = *in.Body
	}
	arm, err := s.brain.OpenWindow(ctx, in.ID, q)
	return &reply[wire.ArmReply]{wire.ArmReply{Arm: arm}}, err
}

func (s *Server) lease(ctx context.Context, in *armBody[wire.LeaseRequest]) (*reply[wire.LeaseReply], error) {
	l, err := s.brain.Lease(ctx, in.ID, in.Body)
	return &reply[wire.LeaseReply]{wire.LeaseReply{Lease: l}}, err
}

func (s *Server) input(ctx context.Context, in *armBody[wire.InputBody]) (*reply[doneReply], error) {
	if in.Body.Text != "" && in.Body.Data != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "keys come as text or as data, not as both")
	}
	data := in.Body.Data
	if in.Body.Text != "" {
		data = []byte(in.Body.Text)
	}
	return doneReplyOf(s.brain.Input(ctx, in.ID, in.Body.Lease, data))
}

func (s *Server) resize(ctx context.Context, in *armBody[wire.ResizeBody]) (*reply[doneReply], error) {
	return doneReplyOf(s.brain.Resize(ctx, in.ID, in.Body.Lease, in.Body.Cols, in.Body.Rows))
}

func doneReplyOf(err error) (*reply[doneReply], error) {
	return &reply[doneReply]{doneReply{err == nil}}, err
}
