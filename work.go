package coleo

import (
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"
)

// Source is the source of an event about the work in a run.
type Source string

// The sources. An event without a source is Coleo's own.
const (
	SourceHook       Source = "hook"       // the agent CLI's hook
	SourceTranscript Source = "transcript" // the agent CLI's own record of the conversation
	SourceHTTP       Source = "http"       // the agent CLI's server
	SourceMCP        Source = "mcp"        // a call of one of Coleo's own tools
	SourceScreen     Source = "screen"     // what the terminal showed
)

// MaxWorkText is the largest size of a text in the payload of an event of work, in bytes. If a text
// is longer, it is cut, and Truncated is set.
const MaxWorkText = 64 << 10

// CutWork shortens a text to at most MaxWorkText bytes, without cutting a character into pieces. It
// also reports whether it has shortened the text.
func CutWork(text string) (short string, cut bool) {
	if len(text) <= MaxWorkText {
		return text, false
	}
	end := MaxWorkText
	// go back at most UTFMax bytes, because a text that is not UTF-8 may contain no rune start
	for end > MaxWorkText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// Work is what an agent CLI did. Each type of work is the payload of one kind of event;
// see KindOf.
type Work interface{ isWork() }

// Activity is one piece of work that one source has reported. Package trace turns activities into
// events.
type Activity struct {
	Work   Work
	Source Source
	Time   time.Time // the time on the agent CLI's clock; zero if the source reports no time
	// Reply is the agent CLI's own id of the model's reply to which the work belongs. It is "" if
	// the source reports no id.
	Reply string
	// Model is the model that gives this reply. It is "" if the source does not report the model,
	// or if there is no reply.
	Model string
	// Position is the place of the activity in its source. In a file, it is the offset in bytes. A
	// later activity never has a lower position. If several activities have the same position,
	// their Keys differ. Position and Key are the same each time the source is read.
	Position int64
	Key      string
}

// Prompted means that the agent CLI has taken a prompt, so that the work after it belongs to this
// prompt's run. Prompted is not an event, because run_start already contains the prompt.
type Prompted struct {
	Text string `json:"text"`
}

// Turn is the payload of a turn event: the model begins a reply to its user or to a tool. Event.Turn
// counts the turns of a run, from 1.
type Turn struct {
	Reply string `json:"reply,omitempty"` // the agent CLI's own id of the reply
	Model string `json:"model,omitempty"` // the model that replies, if the source reports it
}

// Block is one piece of a text that the model writes. All pieces of one text have the same ID, and
// together they are the whole text.
type Block struct {
	ID        string `json:"id"` // the id of the text, unique in the run; package trace sets it
	Text      string `json:"text"`
	Done      bool   `json:"done"` // whether this is the last piece
	Truncated bool   `json:"truncated,omitempty"`
}

// AssistantText is the payload of an assistant_text event: text that the model writes for the user.
type AssistantText struct{ Block }

// Thinking is the payload of a thinking event: text of the model's reasoning, if the source reports
// it.
type Thinking struct{ Block }

// ToolKind is a group of tools with the same abilities.
type ToolKind string

// The kinds of tools.
const (
	ToolRead     ToolKind = "read"     // reads files, or searches in them
	ToolEdit     ToolKind = "edit"     // changes files
	ToolExecute  ToolKind = "execute"  // runs commands
	ToolMCP      ToolKind = "mcp"      // belongs to an MCP server
	ToolSubagent ToolKind = "subagent" // starts a subagent
	ToolOther    ToolKind = "other"
)

// ToolCall is the payload of a tool_call_start event: the model has called a tool.
type ToolCall struct {
	ID        string          `json:"id"` // the agent CLI's own id of the call
	Name      string          `json:"name"`
	Kind      ToolKind        `json:"kind"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // the arguments; missing if they are malformed or too long
	Malformed *Malformed      `json:"malformed,omitempty"`
	// whether Arguments is missing because the arguments are too long
	Truncated bool     `json:"truncated,omitempty"`
	Command   string   `json:"command,omitempty"` // the command line; set only with ToolExecute
	Files     []string `json:"files,omitempty"`   // the paths that the model named; set only with ToolRead and ToolEdit
}

// Malformed contains the arguments of a tool call, if they are not valid JSON.
type Malformed struct {
	Error string `json:"error"` // why the arguments are not valid JSON
	Raw   string `json:"raw"`   // the arguments as the model sent them
}

// ToolProgress is the payload of a tool_progress event: output of a call that has not ended.
type ToolProgress struct {
	ID        string `json:"id"` // the id of the call
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ToolOutcome says how a tool call ended.
type ToolOutcome string

// The outcomes of a tool call.
const (
	ToolSuccess ToolOutcome = "success"
	ToolDenied  ToolOutcome = "denied" // the user or one of the user's rules refused the call
	ToolError   ToolOutcome = "error"  // the tool failed, or its arguments were not accepted
)

// ToolEnd is the payload of a tool_call_end event: a call has ended. A call that was cut off has no
// end.
type ToolEnd struct {
	ID        string      `json:"id"` // the id of the call
	Outcome   ToolOutcome `json:"outcome"`
	Reason    string      `json:"reason,omitempty"` // why the call was denied, or the error message
	Output    string      `json:"output,omitempty"`
	Truncated bool        `json:"truncated,omitempty"` // whether Output or Reason was shortened
	ExitCode  *int        `json:"exit_code,omitempty"` // the exit code of a command, if the source reports it
}

// SubagentStart is the payload of a subagent_start event: a subagent has started. The run does not
// contain the work of the subagent.
type SubagentStart struct {
	ID   string `json:"id"`             // the id of the call that started the subagent
	Type string `json:"type,omitempty"` // the agent CLI's name for this type of subagent
	Task string `json:"task,omitempty"`
}

// SubagentEnd is the payload of a subagent_end event: a subagent has ended.
type SubagentEnd struct {
	ID      string      `json:"id"` // the id of the call that started the subagent
	Outcome ToolOutcome `json:"outcome"`
}

// FileChanged is the payload of a file_changed event: a tool call has changed a file.
type FileChanged struct {
	Path string `json:"path"` // the path that the model named
	Call string `json:"call"` // the id of the call
}

// ReplyUsage is the payload of a usage event: the tokens of one reply of the model.
type ReplyUsage struct {
	Usage
	Model    string `json:"model,omitempty"`
	Subagent bool   `json:"subagent,omitempty"` // whether the reply was for a subagent, whose model can differ
}

// Compaction is the payload of a compaction event: the agent CLI has shortened its
// conversation.
type Compaction struct {
	Before    int    `json:"before_tokens,omitempty"` // the number of tokens before the compaction; 0 if not reported
	After     int    `json:"after_tokens,omitempty"`  // the number of tokens after the compaction; 0 if not reported
	Automatic bool   `json:"automatic"`               // whether the agent CLI started the compaction by itself
	Summary   string `json:"summary,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ModeChanged is the payload of a mode event: the mode of the agent CLI has changed. From and To
// are the agent CLI's own words.
type ModeChanged struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// ModelChanged is the payload of a model event: the model of the arm has changed.
type ModelChanged struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Ordered means that a user of Coleo has ordered the change. If it is true, To has the form
	// PROVIDER/MODEL or MODEL. If it is false, To is the agent CLI's own word.
	Ordered bool `json:"ordered,omitempty"`
	// Fallback says which model was requested, if that model was not available.
	Fallback *ModelFallback `json:"fallback,omitempty"`
}

// TaskStatus is the status of a task in an agent CLI's own list.
type TaskStatus string

// The statuses of a task.
const (
	TaskPending TaskStatus = "pending"
	TaskRunning TaskStatus = "in_progress"
	TaskDone    TaskStatus = "completed"
)

// Task is one entry of an agent CLI's list of tasks.
type Task struct {
	ID     string     `json:"id"`
	Text   string     `json:"text"`
	Status TaskStatus `json:"status"`
}

// TasksUpdated is the payload of a task_updated event: the list of tasks has changed. The payload
// contains the complete new list.
type TasksUpdated struct {
	Tasks []Task `json:"tasks"`
}

// ShellInput is the payload of a shell_input event: the user has given a command directly to the
// shell, without the model.
type ShellInput struct {
	ID      string `json:"id"`
	Command string `json:"command"`
}

// ShellProgress is the payload of a shell_progress event: output of a shell command that has not
// ended.
type ShellProgress struct {
	ID        string `json:"id"`
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ShellOutput is the payload of a shell_output event: the shell command has ended.
type ShellOutput struct {
	ID        string `json:"id"`
	Output    string `json:"output"`
	Errors    string `json:"errors,omitempty"` // the error output, if the source reports it separately
	ExitCode  *int   `json:"exit_code,omitempty"`
	Millis    int64  `json:"duration_ms,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Problem is the payload of an error event: the agent CLI reports an error.
type Problem struct {
	Text    string `json:"text"`
	Retries bool   `json:"retries,omitempty"` // whether the agent CLI tries again by itself
}

// Remark is the payload of an info event: a message of the agent CLI for its user.
type Remark struct {
	Text   string        `json:"text"`
	Title  string        `json:"title,omitempty"`  // the title of a note
	Tags   []string      `json:"tags,omitempty"`   // the tags of a note
	Report *StatusReport `json:"report,omitempty"` // the model's own report about its work
}

// StatusReport is what the model of an arm reports about its work.
type StatusReport struct {
	// Status is "on_track", "blocked", "issues_found", "needs_review" or "completed_with_issues".
	Status       string   `json:"status"`
	Summary      string   `json:"summary"`
	Issues       []string `json:"issues,omitempty"`
	Blockers     []string `json:"blockers,omitempty"`
	NextSteps    []string `json:"next_steps,omitempty"`
	FilesChanged []string `json:"files_changed,omitempty"`
	TestsStatus  string   `json:"tests_status,omitempty"`
}

// Suspended is the payload of a suspension event.
type Suspended struct{ Suspension }

// SuspensionAnswered is the payload of a suspension_answered event: a suspension was answered. If
// Decision is missing, the suspension was withdrawn.
type SuspensionAnswered struct{ Suspension }

// workTypes maps each kind of event of work to the type of its payload.
var workTypes = map[EventKind]reflect.Type{
	EventTurn:          reflect.TypeFor[Turn](),
	EventAssistantText: reflect.TypeFor[AssistantText](),
	EventThinking:      reflect.TypeFor[Thinking](),
	EventToolStart:     reflect.TypeFor[ToolCall](),
	EventToolProgress:  reflect.TypeFor[ToolProgress](),
	EventToolEnd:       reflect.TypeFor[ToolEnd](),
	EventSubagentStart: reflect.TypeFor[SubagentStart](),
	EventSubagentEnd:   reflect.TypeFor[SubagentEnd](),
	EventFileChanged:   reflect.TypeFor[FileChanged](),
	EventUsage:         reflect.TypeFor[ReplyUsage](),
	EventCompaction:    reflect.TypeFor[Compaction](),
	EventMode:          reflect.TypeFor[ModeChanged](),
	EventModel:         reflect.TypeFor[ModelChanged](),
	EventTasks:         reflect.TypeFor[TasksUpdated](),
	EventShellInput:    reflect.TypeFor[ShellInput](),
	EventShellProgress: reflect.TypeFor[ShellProgress](),
	EventShellOutput:   reflect.TypeFor[ShellOutput](),
	EventError:         reflect.TypeFor[Problem](),
	EventInfo:          reflect.TypeFor[Remark](),
	EventSuspension:    reflect.TypeFor[Suspended](),
	EventAnswered:      reflect.TypeFor[SuspensionAnswered](),
}

var workKinds = func() map[reflect.Type]EventKind {
	out := map[reflect.Type]EventKind{}
	for kind, t := range workTypes {
		out[t] = kind
	}
	return out
}()

// IsWork reports whether events of kind k describe what an agent CLI did in a run.
func (k EventKind) IsWork() bool { return workTypes[k] != nil }

// ChangesArm reports whether an event of kind k can change the row of its arm. Most events of work
// cannot.
func (k EventKind) ChangesArm() bool {
	switch k {
	case EventMode, EventModel, EventSuspension, EventAnswered:
		return true
	default:
		return !k.IsWork()
	}
}

// KindOf returns the kind of the events whose payload is w. If no event has such a payload, as for
// Prompted, KindOf returns "".
func KindOf(w Work) EventKind { return workKinds[reflect.TypeOf(w)] }

// DecodeWork returns the payload of an event of work. It returns EInvalid if the event is of
// another kind, and EInternal if the payload is unreadable.
func DecodeWork(e Event) (Work, error) {
	t := workTypes[e.Kind]
	if t == nil {
		return nil, Errorf(EInvalid, "event %d of host %s is a %s, which reports no work", e.Seq, e.Host, e.Kind)
	}
	w := reflect.New(t)
	if err := json.Unmarshal(e.Payload, w.Interface()); err != nil {
		return nil, Errorf(EInternal, "read the payload of event %d of host %s (%s): %v", e.Seq, e.Host, e.Kind, err)
	}
	return w.Elem().Interface().(Work), nil
}

func (Prompted) isWork()           {}
func (Turn) isWork()               {}
func (AssistantText) isWork()      {}
func (Thinking) isWork()           {}
func (ToolCall) isWork()           {}
func (ToolProgress) isWork()       {}
func (ToolEnd) isWork()            {}
func (SubagentStart) isWork()      {}
func (SubagentEnd) isWork()        {}
func (FileChanged) isWork()        {}
func (ReplyUsage) isWork()         {}
func (Compaction) isWork()         {}
func (ModeChanged) isWork()        {}
func (ModelChanged) isWork()       {}
func (TasksUpdated) isWork()       {}
func (ShellInput) isWork()         {}
func (ShellProgress) isWork()      {}
func (ShellOutput) isWork()        {}
func (Problem) isWork()            {}
func (Remark) isWork()             {}
func (Suspended) isWork()          {}
func (SuspensionAnswered) isWork() {}
