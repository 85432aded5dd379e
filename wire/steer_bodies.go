package wire

import (
	"encoding/json"

	"coleo.dev"
)

// PromptBody is the body of POST /api/arms/{id}/prompt.
type PromptBody struct {
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

// PromptReply answers POST /api/arms/{id}/prompt and POST /api/arms/{id}/compact.
type PromptReply struct {
	Success bool          `json:"success"`
	Receipt coleo.Receipt `json:"receipt"`
}

// InterruptReply answers POST /api/arms/{id}/interrupt.
type InterruptReply struct {
	Success bool `json:"success"`
	coleo.Interruption
}

// RespondBody is the body of POST /api/arms/{id}/respond, the answer to a dialog.
type RespondBody struct {
	Dialog coleo.Fingerprint `json:"dialog,omitempty" doc:"Fingerprint of the dialog; the open dialog if left out"`
	Choice coleo.Choice      `json:"choice" enum:"approve,approve_always,deny,answer"`
	Option int               `json:"option,omitempty" minimum:"0" doc:"With answer: the option to pick, from 1"`
	// the arm's session checks Options later
	Options []int  `json:"options,omitempty" doc:"With answer, where several may be ticked: the options to tick, from 1"`
	Words   string `json:"words,omitempty" doc:"With answer: a reply in words; with deny: what to do instead"`
	Key     string `json:"key,omitempty" doc:"With answer, at a dialog that no rule knows: one key, by its name"`
	Lease   string `json:"lease,omitempty"`
}

// SuspensionBody is the answer to a suspension, an open question of an arm. The answer is a decision,
// options or a text.
type SuspensionBody struct {
	ID       string       `json:"id,omitempty" doc:"Id of the suspension; can be left out if the arm has exactly one"`
	Decision coleo.Choice `json:"decision,omitempty" enum:"approve,approve_always,deny" doc:"For plan, access, permission"`
	Option   int          `json:"option,omitempty" minimum:"0" doc:"The option to choose, from 1"`
	Options  []int        `json:"options,omitempty" doc:"Where several can be chosen"`
	Text     string       `json:"text,omitempty" doc:"An answer in words, or words that go with the decision"`
}

// SuspensionsReply answers GET /api/suspensions.
type SuspensionsReply struct {
	Suspensions []coleo.Suspension `json:"suspensions"`
}

// SuspensionReply contains the suspension that was answered.
type SuspensionReply struct {
	Suspension coleo.Suspension `json:"suspension"`
}

// TasksReply answers GET /api/arms/{id}/tasks.
type TasksReply struct {
	Tasks []coleo.Task `json:"tasks"`
}

// ModeBody is the body of POST /api/arms/{id}/mode.
type ModeBody struct {
	Mode      string `json:"mode" minLength:"1" doc:"Id of the mode"`
	Allow     bool   `json:"allow,omitempty" doc:"Also a mode in which the agent CLI asks less often"`
	Interrupt bool   `json:"interrupt,omitempty" doc:"Stop the running turn first"`
}

// ModeReply answers POST /api/arms/{id}/mode.
type ModeReply struct {
	Success bool `json:"success"`
	coleo.ModeSwitch
}

// ModelBody is the body of POST /api/arms/{id}/model.
type ModelBody struct {
	Model    string                 `json:"model,omitempty" doc:"PROVIDER/MODEL or MODEL"`
	Scope    coleo.ModelScope       `json:"scope,omitempty" enum:"arm,thread,default" doc:"arm if left out"`
	Restart  bool                   `json:"restart,omitempty" doc:"Allow a restart that resumes the conversation"`
	Fallback coleo.FallbackStrategy `json:"fallback,omitempty" enum:"any,same-price,cheaper,none" doc:"As in config.toml if left out"` //nolint:lll // a tag has one line
	Seen     bool                   `json:"seen,omitempty" doc:"Alone: a person has seen the fallback (not with a token)"`
}

// ModelReply answers POST /api/arms/{id}/model.
type ModelReply struct {
	Success bool `json:"success"`
	coleo.ModelSwitch
}

// InputBody is the body of POST /api/arms/{id}/input: keys, as text or as bytes.
type InputBody struct {
	Lease string `json:"lease"`
	Text  string `json:"text,omitempty" doc:"Keys, as text"`
	Data  []byte `json:"data,omitempty" doc:"Keys, as base64"`
}

// ResizeBody is the body of POST /api/arms/{id}/resize.
type ResizeBody struct {
	Lease string `json:"lease"`
	Cols  int    `json:"cols" minimum:"1" maximum:"1000" doc:"Number of columns; the terminal keeps at least 80"`
	Rows  int    `json:"rows" minimum:"1" maximum:"1000" doc:"Number of rows; the terminal keeps at least 24"`
}

// LeaseReply answers POST /api/arms/{id}/lease.
type LeaseReply struct {
	Lease coleo.Lease `json:"lease"`
}
