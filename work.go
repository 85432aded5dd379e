package coleo

import (
	"encoding/json"
	"reflect"
	"time"
	"unicode/utf8"
)

// Source names the source of an event of a run's work.
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

// CutWork shortens a text to at most MaxWorkText bytes, at the end of a character. It reports
// whether it has cut the text.
func CutWork(text string) (short string, cut bool) {
	if len(text) <= MaxWorkText {
		return text, false
	}
	end := MaxWorkText
	for end > MaxWorkText-utf8.UTFMax && !utf8.RuneStart(text[end]) { // a text that is not UTF-8 may have no beginning
		end--
	}
	return text[:end], true
}

// Work is what an agent CLI did. Each type of work is the payload of one kind of event;
// see KindOf.
type Work interface{ isWork() }

// Activity is one piece of work, as one source has reported it. Package trace turns activities into
// events.
type Activity struct {
	Work   Work
	Source Source
	Time   time.Time // by the agent CLI's clock; zero if the source gives no time
	// Reply is the agent CLI's own id of the model's reply to which the work belongs. It
	// is "" if the source gives no id.
	Reply string
	// Model is the model that gives this reply. It is "" if the source does not name the model, or
	// if there is no reply.
	Model string
	// Position is the place of the activity in its source. In a file, positions are offsets in
	// bytes. A later activity never has a lower position. Key distinguishes activities with the
	// same position. Position and Key are the same each time the source is read.
	Position int64
	Key      string
}

// Prompted says that the agent CLI has taken a prompt. It is not an event, because run_start
// contains the prompt. It shows to which run the following work belongs.
type Prompted struct {
	Text string `json:"text"`
}

// Turn is the payload of a turn event: the model begins a reply to its user or to a tool. Event.Turn
// counts the turns of a run, from 1.
type Turn struct {
	Reply string `json:"reply,omitempty"` // the agent CLI's own id of the reply
	Model string `json:"model,omitempty"` // the model that replies, if the source reports it
}

// Block is one piece of a text that the model writes. All pieces of one text have the same ID.
// Together they are the whole text.
type Block struct {
	ID        string `json:"id"` // unique in the run; package trace makes it
	Text      string `json:"text"`
	Done      bool   `json:"done"` // this is the last piece
	Truncated bool   `json:"truncated,omitempty"`
}

// AssistantText is the payload of an assistant_text event: what the model says.
type AssistantText struct{ Block }

// Thinking is the payload of a thinking event: what the model thinks, if the source reports it.
type Thinking struct{ Block }

// ToolKind says what a tool can do.
type ToolKind string

// The kinds of tools.
const (
	ToolRead     ToolKind = "read"     // it reads files, or searches in them
	ToolEdit     ToolKind = "edit"     // it changes files
	ToolExecute  ToolKind = "execute"  // it runs commands
	ToolMCP      ToolKind = "mcp"      // it belongs to an MCP server
	ToolSubagent ToolKind = "subagent" // it starts a subagent
	ToolOther    ToolKind = "other"
)

// ToolCall is the payload of a tool_call_start event: the model has called a tool.
type ToolCall struct {
	ID        string          `json:"id"` // the agent CLI's own id of the call
	Name      string          `json:"name"`
	Kind      ToolKind        `json:"kind"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // absent if they are malformed or too long
	Malformed *Malformed      `json:"malformed,omitempty"`
	Truncated bool            `json:"truncated,omitempty"` // Arguments are left out, because they are too long
	Command   string          `json:"command,omitempty"`   // with ToolExecute: the command line
	Files     []string        `json:"files,omitempty"`     // with ToolRead and ToolEdit: paths, as the model gave them
}

// Malformed holds the arguments of a tool call that are not valid JSON.
type Malformed struct {
	Error string `json:"error"` // why the arguments are not valid JSON
	Raw   string `json:"raw"`   // the arguments as they came
}

// ToolProgress is the payload of a tool_progress event: output between the start and the end of a
// call.
type ToolProgress struct {
	ID        string `json:"id"` // the id of the call
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ToolOutcome says how a call of a tool ended.
type ToolOutcome string

// The outcomes of a call.
const (
	ToolSuccess ToolOutcome = "success"
	ToolDenied  ToolOutcome = "denied" // the user, or a rule of the user, refused the call
	ToolError   ToolOutcome = "error"  // the tool failed, or its arguments were not accepted
)

// ToolEnd is the payload of a tool_call_end event: a call has ended. A call that was cut off has no
// end.
type ToolEnd struct {
	ID        string      `json:"id"` // the id of the call
	Outcome   ToolOutcome `json:"outcome"`
	Reason    string      `json:"reason,omitempty"` // why the call was denied, or what the error was
	Output    string      `json:"output,omitempty"`
	Truncated bool        `json:"truncated,omitempty"` // Output or Reason was cut
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

// FileChanged is the payload of a file_changed event: a call of a tool that changes
// files has succeeded.
type FileChanged struct {
	Path string `json:"path"` // the path, as the model gave it
	Call string `json:"call"` // the id of the call
}

// ReplyUsage is the payload of a usage event: the tokens of one reply.
type ReplyUsage struct {
	Usage
	Model    string `json:"model,omitempty"`
	Subagent bool   `json:"subagent,omitempty"` // the reply was for a subagent, which can have another model
}

// Compaction is the payload of a compaction event: the agent CLI has shortened its
// conversation.
type Compaction struct {
	Before    int    `json:"before_tokens,omitempty"` // the tokens before; 0 if the source does not report it
	After     int    `json:"after_tokens,omitempty"`  // the tokens after; 0 if the source does not report it
	Automatic bool   `json:"automatic"`               // the agent CLI shortened the conversation by itself
	Summary   string `json:"summary,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ModeChanged is the payload of a mode event: the mode of the agent CLI has changed. The modes are in
// the agent CLI's own words.
type ModeChanged struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// ModelChanged is the payload of a model event: the model of the arm has changed.
type ModelChanged struct {
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Ordered means that a user of Coleo has ordered the change. To is then PROVIDER/MODEL or
	// MODEL, and not the agent CLI's own word.
	Ordered bool `json:"ordered,omitempty"`
	// Fallback says which model was requested, if that model was not available.
	Fallback *ModelFallback `json:"fallback,omitempty"`
}

// TaskStatus is the status of a task that an agent CLI has set itself.
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
// contains the whole list.
type TasksUpdated struct {
	Tasks []Task `json:"tasks"`
}

// ShellInput is the payload of a shell_input event: a command that the user gave to the
// shell, and not to the model.
type ShellInput struct {
	ID      string `json:"id"`
	Command string `json:"command"`
}

// ShellProgress is the payload of a shell_progress event: output before the end of the command.
type ShellProgress struct {
	ID        string `json:"id"`
	Output    string `json:"output"`
	Truncated bool   `json:"truncated,omitempty"`
}

// ShellOutput is the payload of a shell_output event: the command has ended.
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
	Retries bool   `json:"retries,omitempty"` // the agent CLI tries again by itself
}

// Remark is the payload of an info event: a remark of the agent CLI for its user.
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

// SuspensionAnswered is the payload of a suspension_answered event: a suspension was answered. If it
// has no Decision, the suspension was withdrawn.
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

// ChangesArm reports whether an event of kind k can change the row of its arm. There are many
// events of work, and most of them cannot.
func (k EventKind) ChangesArm() bool {
	switch k {
	case EventMode, EventModel, EventSuspension, EventAnswered:
		return true
	default:
		return !k.IsWork()
	}
}

// KindOf returns the kind of the events whose payload is w. It returns "" if w is not an event by
// itself.
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
