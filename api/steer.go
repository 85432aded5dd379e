package api

import (
	"context"
	"encoding/json"
	"strings"

	"coleo.dev"
	"coleo.dev/wire"
)

// This file contains the routes that act on a running arm, such as prompts, interrupts, modes and answers.

type promptBody struct {
	Prompt    string `json:"prompt" minLength:"1" doc:"The text"`
	Interrupt bool   `json:"interrupt,omitempty" doc:"Stop the running turn first"`
	Unproven  bool   `json:"unproven,omitempty" doc:"Send the prompt even if nothing proves that the last turn has ended"`
	Lease     string `json:"lease,omitempty" doc:"The lease of the caller who types by hand now"`

	Files []string `json:"files,omitempty" doc:"Absolute paths on the arm's machine, added to the text"`

	Schema      json.RawMessage `json:"schema,omitempty" doc:"JSON Schema that the answer must fit"`
	Retries     *int            `json:"retries,omitempty" doc:"With schema: how often to ask again, 0 to 5; 1 if left out"`
	Input       json.RawMessage `json:"input,omitempty" doc:"JSON that is added to the text"`
	InputSchema json.RawMessage `json:"input_schema,omitempty" doc:"JSON Schema that the input must fit"`
}

// check returns the Check of the prompt, or nil if the request contains nothing to check.
func (b promptBody) check() *coleo.Check {
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

type promptReply struct {
	Success bool          `json:"success"`
	Receipt coleo.Receipt `json:"receipt"`
}

type interruptReply struct {
	Success bool `json:"success"`
	coleo.Interruption
}

type respondBody struct {
	Dialog coleo.Fingerprint `json:"dialog,omitempty" doc:"Fingerprint of the dialog; the open dialog if left out"`
	Choice coleo.Choice      `json:"choice" enum:"approve,approve_always,deny,answer"`
	Option int               `json:"option,omitempty" minimum:"0" doc:"With answer: the option to pick, from 1"`
	// the arm's session checks Options later
	Options []int  `json:"options,omitempty" doc:"With answer, where several may be ticked: the options to tick, from 1"`
	Words   string `json:"words,omitempty" doc:"With answer: a reply in words; with deny: what to do instead"`
	Key     string `json:"key,omitempty" doc:"With answer, at a dialog that no rule knows: one key, by its name"`
	Lease   string `json:"lease,omitempty"`
}

// suspensionBody is the answer to a suspension: a decision, options or a text.
type suspensionBody struct {
	ID       string       `json:"id,omitempty" doc:"Id of the suspension; can be left out if the arm has exactly one"`
	Decision coleo.Choice `json:"decision,omitempty" enum:"approve,approve_always,deny" doc:"For plan, access, permission"`
	Option   int          `json:"option,omitempty" minimum:"0" doc:"The option to choose, from 1"`
	Options  []int        `json:"options,omitempty" doc:"Where several can be chosen"`
	Text     string       `json:"text,omitempty" doc:"An answer in words, or words that go with the decision"`
}

type suspensionInput struct {
	ID   string `path:"id" doc:"Id of the suspension"`
	Body suspensionBody
}

type suspensionsInput struct {
	Arm string `query:"arm" doc:"Id or name of an arm; all arms if left out"`
}

type suspensionsReply struct {
	Suspensions []coleo.Suspension `json:"suspensions"`
}

type suspensionReply struct {
	Suspension coleo.Suspension `json:"suspension"`
}

type tasksReply struct {
	Tasks []coleo.Task `json:"tasks"`
}

type modeBody struct {
	Mode      string `json:"mode" minLength:"1" doc:"Id of the mode"`
	Allow     bool   `json:"allow,omitempty" doc:"Also a mode in which the agent CLI asks less often"`
	Interrupt bool   `json:"interrupt,omitempty" doc:"Stop the running turn first"`
}

type modeReply struct {
	Success bool `json:"success"`
	coleo.ModeSwitch
}

type modelBody struct {
	Model    string                 `json:"model,omitempty" doc:"PROVIDER/MODEL or MODEL"`
	Scope    coleo.ModelScope       `json:"scope,omitempty" enum:"arm,thread,default" doc:"arm if left out"`
	Restart  bool                   `json:"restart,omitempty" doc:"Allow a restart that resumes the conversation"`
	Fallback coleo.FallbackStrategy `json:"fallback,omitempty" enum:"any,same-price,cheaper,none" doc:"Else config.toml's"`
	Seen     bool                   `json:"seen,omitempty" doc:"Alone: a person has seen the fallback (not with a token)"`
}

type modelReply struct {
	Success bool `json:"success"`
	coleo.ModelSwitch
}

type inputBody struct {
	Lease string `json:"lease"`
	Text  string `json:"text,omitempty" doc:"Keys, as text"`
	Data  []byte `json:"data,omitempty" doc:"Keys, as base64"`
}

type resizeBody struct {
	Lease string `json:"lease"`
	Cols  int    `json:"cols" minimum:"1" maximum:"1000" doc:"Number of columns; the terminal keeps at least 80"`
	Rows  int    `json:"rows" minimum:"1" maximum:"1000" doc:"Number of rows; the terminal keeps at least 24"`
}

type leaseReply struct {
	Lease coleo.Lease `json:"lease"`
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
		func(ctx context.Context, in *armOnly) (*reply[tasksReply], error) {
			list, err := s.brain.Tasks(ctx, in.ID)
			return &reply[tasksReply]{tasksReply{orEmpty(list)}}, err
		})
}

// orEmpty returns a copy of a list. The copy of an empty list is not nil, so JSON encodes it as [].
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

func (s *Server) suspensions(ctx context.Context, in *suspensionsInput) (*reply[suspensionsReply], error) {
	list, err := s.brain.Suspensions(ctx, in.Arm)
	return &reply[suspensionsReply]{suspensionsReply{orEmpty(list)}}, err
}

func (s *Server) answerSuspension(ctx context.Context, in *suspensionInput) (*reply[suspensionReply], error) {
	return s.answered(ctx, "", in.ID, in.Body)
}

func (s *Server) answerArm(ctx context.Context, in *armBody[suspensionBody]) (*reply[suspensionReply], error) {
	return s.answered(ctx, in.ID, in.Body.ID, in.Body)
}

func (s *Server) answered(ctx context.Context, arm, id string, b suspensionBody) (*reply[suspensionReply], error) {
	d := coleo.Decision{Choice: b.Decision, Option: b.Option, Options: b.Options, Words: b.Text}
	if d.Choice == "" {
		d.Choice = coleo.ChoiceAnswer
	}
	c := callerOf(ctx)
	out, err := s.brain.AnswerSuspension(ctx, arm, id, d, strings.TrimSpace(string(c.Kind)+" "+c.ID))
	return &reply[suspensionReply]{suspensionReply{out}}, err
}

func (s *Server) prompt(ctx context.Context, in *armBody[promptBody]) (*reply[promptReply], error) {
	p := coleo.Prompt{Text: in.Body.Prompt, Interrupt: in.Body.Interrupt, Unproven: in.Body.Unproven,
		Files: in.Body.Files, Check: in.Body.check()}
	receipt, err := s.brain.Prompt(ctx, in.ID, p, in.Body.Lease)
	return &reply[promptReply]{promptReply{err == nil, receipt}}, err
}

func (s *Server) compact(ctx context.Context, in *armOnly) (*reply[promptReply], error) {
	receipt, err := s.brain.Compact(ctx, in.ID)
	return &reply[promptReply]{promptReply{err == nil, receipt}}, err
}

func (s *Server) modes(ctx context.Context, in *armOnly) (*reply[wire.Modes], error) {
	out, err := s.brain.Modes(ctx, in.ID)
	return &reply[wire.Modes]{out}, err
}

func (s *Server) switchMode(ctx context.Context, in *armBody[modeBody]) (*reply[modeReply], error) {
	out, err := s.brain.SwitchMode(ctx, in.ID, coleo.ModeOrder(in.Body))
	return &reply[modeReply]{modeReply{err == nil, out}}, err
}

func (s *Server) switchModel(ctx context.Context, in *armBody[modelBody]) (*reply[modelReply], error) {
	switch {
	case in.Body.Seen && operatorOf(ctx) != nil:
		return nil, coleo.Errorf(coleo.EForbidden, "only a person can confirm that they have seen a fallback")
	case in.Body.Seen == (in.Body.Model != ""):
		return nil, coleo.Errorf(coleo.EInvalid, `give either "model" or "seen"`)
	}
	out, err := s.brain.SwitchModel(ctx, in.ID, coleo.ModelOrder(in.Body))
	return &reply[modelReply]{modelReply{err == nil, out}}, err
}

func (s *Server) respond(ctx context.Context, in *armBody[respondBody]) (*reply[doneReply], error) {
	b := in.Body
	d := coleo.Decision{Choice: b.Choice, Option: b.Option, Options: b.Options, Words: b.Words, Key: b.Key}
	return done(s.brain.Respond(ctx, in.ID, b.Dialog, d, b.Lease))
}

func (s *Server) interrupt(ctx context.Context, in *armOnly) (*reply[interruptReply], error) {
	out, err := s.brain.Interrupt(ctx, in.ID)
	return &reply[interruptReply]{interruptReply{err == nil, out}}, err
}

func (s *Server) openWindow(ctx context.Context, in *armBody[*wire.WindowRequest]) (*reply[armReply], error) {
	var q wire.WindowRequest
	if in.Body != nil {
		q = *in.Body
	}
	arm, err := s.brain.OpenWindow(ctx, in.ID, q)
	return &reply[armReply]{armReply{arm}}, err
}

func (s *Server) lease(ctx context.Context, in *armBody[wire.LeaseRequest]) (*reply[leaseReply], error) {
	l, err := s.brain.Lease(ctx, in.ID, in.Body)
	return &reply[leaseReply]{leaseReply{l}}, err
}

func (s *Server) input(ctx context.Context, in *armBody[inputBody]) (*reply[doneReply], error) {
	if in.Body.Text != "" && in.Body.Data != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "keys come as text or as data, not as both")
	}
	data := in.Body.Data
	if in.Body.Text != "" {
		data = []byte(in.Body.Text)
	}
	return done(s.brain.Input(ctx, in.ID, in.Body.Lease, data))
}

func (s *Server) resize(ctx context.Context, in *armBody[resizeBody]) (*reply[doneReply], error) {
	return done(s.brain.Resize(ctx, in.ID, in.Body.Lease, in.Body.Cols, in.Body.Rows))
}

func done(err error) (*reply[doneReply], error) {
	return &reply[doneReply]{doneReply{err == nil}}, err
}
