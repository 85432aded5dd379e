package display

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"coleo.dev"
)

const (
	// MaxText is the largest size of a snapshot's Text, in bytes. This is enough for the end of an
	// answer on a page. Apply drops the beginning of a longer text.
	MaxText = 2 << 10
	// MaxPrompt is the largest size of a snapshot's Prompt, in bytes.
	MaxPrompt = 1 << 10
	// MaxTools is the largest number of running tools in a snapshot. A reply contains only a few
	// calls, so if more tools seem to run, the oldest of them have ended without an event.
	MaxTools = 32
	// maxTitle is the largest size of a tool's Title, in bytes. A Title of this size fills about one
	// line of a wide screen.
	maxTitle = 200
)

// Snapshot describes what an arm does at one moment. A Snapshot never changes: Apply returns a new
// one. The zero Snapshot describes an arm without events.
type Snapshot struct {
	Arm string `json:"arm"` // the arm's id

	State      coleo.State   `json:"state,omitempty"`
	Rule       string        `json:"rule,omitempty"`   // what determined State
	Detail     string        `json:"detail,omitempty"` // more about State, for example "attempt 2/10" during retries
	Background string        `json:"background,omitempty"`
	Dialog     *coleo.Dialog `json:"dialog,omitempty"` // the open dialog

	Run      string    `json:"run,omitempty"` // the newest run
	Open     bool      `json:"open"`          // whether the newest run has not ended
	Prompt   string    `json:"prompt,omitempty"`
	Turn     int       `json:"turn,omitempty"`  // the last turn of the run, from 1
	Began    time.Time `json:"began,omitzero"`  // when the run began
	RunUsage Tokens    `json:"run_usage"`       // the total of all replies in the run
	Usage    *Tokens   `json:"usage,omitempty"` // the usage of the whole conversation, up to the end of its last run
	Tools    []Tool    `json:"tools,omitempty"` // the tools that run, oldest first
	Text     string    `json:"text,omitempty"`  // the end of the last text that the model has written in the run
	// whether the model is thinking, and has written no text since it began to think
	Thinking bool   `json:"thinking,omitempty"`
	Problem  string `json:"problem,omitempty"`   // the last error that the agent CLI has reported in the run
	Compacts int    `json:"compacted,omitempty"` // how often the conversation was shortened in the run

	Tasks []coleo.Task `json:"tasks,omitempty"`
	Mode  string       `json:"mode,omitempty"`
	Model string       `json:"model,omitempty"`

	Queue *coleo.QueueState `json:"queue,omitempty"` // the prompts that wait; only the method With sets this field

	Budget *coleo.BudgetChange `json:"budget,omitempty"` // see coleo.Arm

	// Partial means that older events of the run are not in the snapshot.
	Partial bool      `json:"partial,omitempty"`
	Time    time.Time `json:"time,omitzero"` // the time of the last event

	Host  string `json:"host,omitempty"` // the host of the last event; Host, Epoch and Seq are the key of this event
	Epoch string `json:"epoch,omitempty"`
	Seq   uint64 `json:"seq,omitempty"`

	block string // the id of the model's text whose end is in Text
}

// Tokens is an amount of usage.
type Tokens struct {
	Input  int     `json:"input_tokens"`
	Cached int     `json:"cached_tokens"`
	Output int     `json:"output_tokens"`
	Cost   float64 `json:"cost,omitempty"` // US dollars
}

// Tool is a call of a tool that has begun and has not ended.
type Tool struct {
	ID    string         `json:"id"`
	Run   string         `json:"run,omitempty"`
	Name  string         `json:"name"`
	Kind  coleo.ToolKind `json:"kind,omitempty"`
	Title string         `json:"title"` // "bash: npm test"
	Since time.Time      `json:"since"`
}

// With returns s with the data from the row of its arm. If the row says that the arm has ended,
// With removes the dialog and the running tools, even if no event has reported the end.
func (s Snapshot) With(arm coleo.Arm) Snapshot {
	s.Arm, s.Queue = arm.ID, arm.Queue
	if arm.State != "" {
		s.State, s.Rule, s.Dialog = arm.State, arm.Rule, arm.Dialog
	}
	if s.Model == "" {
		s.Model = arm.Model
	}
	if s.State == coleo.Dead {
		s.Tools, s.Dialog, s.Thinking = nil, nil, false
	}
	return s
}

// title returns the call as one line: the name of the tool, and its command or files.
func title(c coleo.ToolCall) string {
	what := c.Command
	if what == "" {
		what = strings.Join(c.Files, " ")
	}
	line := c.Name
	if what != "" {
		line += ": " + strings.Join(strings.Fields(what), " ")
	}
	return head(line, maxTitle)
}

// head returns the beginning of s, at most n bytes. It never cuts a character in two.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tail returns the end of s, at most n bytes. It never cuts a character in two.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

func payload[T any](e coleo.Event) (T, bool) {
	var v T
	if len(e.Payload) == 0 || json.Unmarshal(e.Payload, &v) != nil {
		var none T
		return none, false
	}
	return v, true
}

// without returns a copy of the list that lacks the tools for which `gone` returns true.
func without(tools []Tool, gone func(Tool) bool) []Tool {
	if !slices.ContainsFunc(tools, gone) {
		return tools
	}
	var out []Tool
	for _, t := range tools {
		if !gone(t) {
			out = append(out, t)
		}
	}
	return out
}
