package modelserver

import (
	"slices"
	"strings"
)

// These are the names of the dialects in records and scripts.
const (
	anthropicDialect = "anthropic-messages"
	chatDialect      = "openai-chat"
	responsesDialect = "openai-responses"
	geminiDialect    = "gemini-content"
)

// Turn is a request for a reply of the model, in a form that does not depend on the dialect.
type Turn struct {
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`
	Stream  bool   `json:"stream"`

	// System is the system text. In the record, it is at most 512 bytes long.
	System string `json:"system,omitempty"`
	// Folder is the work folder that the agent CLI names in its texts, or "".
	Folder string `json:"folder,omitempty"`
	// Prompt is the last text of the user, byte for byte as the agent CLI sent it. Texts that the agent
	// CLI itself has added do not count as texts of the user.
	Prompt string `json:"prompt"`
	// Notice is true if Prompt does not come from a user. The agent CLI has then begun the turn by
	// itself, and Prompt is the notice that explains the reason to the model.
	Notice bool `json:"notice,omitempty"`
	// Notices is the number of notices in the conversation that explain to the model what has ended in the
	// background. It includes notices that the agent CLI has added to a running turn.
	Notices int `json:"notices,omitempty"`
	// Texts contains all texts of the user's last message. The last text is Prompt.
	Texts []string `json:"texts,omitempty"`
	// HasToolResult is true if there is a tool result after Prompt. The request then
	// continues the turn that Prompt has begun.
	HasToolResult bool `json:"has_tool_result"`
	// Turns is the number of the user's messages in the request.
	Turns int `json:"turns"`
	// ToolResult is the text of the last tool result after Prompt.
	ToolResult string `json:"tool_result,omitempty"`
	Tools      []Tool `json:"tools,omitempty"`
	// Deferred lists the names of tools whose schemas are not in the request. The agent CLI sends a
	// schema when the model asks for it.
	Deferred []string `json:"deferred,omitempty"`
	// Side is the kind of a side request. It is "" for a main request, which the agent CLI makes for
	// the user's prompt.
	Side SideRequest `json:"side,omitempty"`

	maxTokens  int
	form       schema   // form of the answer; only for SideForm
	wantsUsage bool     // the client wants the usage at the end of a chat stream
	added      string   // texts that the agent CLI has added to the user's texts
	said       []string // the beginnings of all texts of the user, for Said
	size       int      // size of the request, in bytes
}

// Tool is one tool that the agent CLI offers to the model.
type Tool struct {
	Name string `json:"name"`

	schema    schema
	custom    bool   // the tool takes plain text instead of arguments
	namespace string // namespace in which the tool must be called, or ""
}

// maxRecordedSystem is how much of a system text the record keeps, in bytes. This is enough to
// recognize the agent CLI. Agent CLIs send 10 to 60 kB of system text with each request.
const maxRecordedSystem = 512

// forRecord returns the part of t that the record keeps.
func (t Turn) forRecord() Turn {
	if len(t.System) > maxRecordedSystem {
		t.System = strings.ToValidUTF8(t.System[:maxRecordedSystem], "")
	}
	tools := make([]Tool, len(t.Tools))
	for i, tool := range t.Tools {
		tools[i] = Tool{Name: tool.Name}
	}
	t.Tools, t.added = tools, ""
	return t
}

// maxSaid is how much of each text of the user is kept for Said, in bytes.
const maxSaid = 256

// Said reports whether the user has said something in the conversation, with the last prompt or before. It knows only
// the first maxSaid bytes of each text.
func (t Turn) Said(text string) bool {
	return slices.ContainsFunc(t.said, func(said string) bool { return strings.Contains(said, text) })
}

// inputTokens returns an estimate of the request's tokens: one token per four bytes.
func (t Turn) inputTokens() int { return t.size/4 + 1 }
