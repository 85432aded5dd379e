package modelserver

import "strings"

// These are the names of the dialects in records and scripts.
const (
	anthropicDialect = "anthropic-messages"
	chatDialect      = "openai-chat"
	responsesDialect = "openai-responses"
	geminiDialect    = "gemini-content"
)

// Turn is one request for a reply of the model, in a form that all dialects share.
type Turn struct {
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`
	Stream  bool   `json:"stream"`

	// System is the system text. The record keeps only the first 512 bytes.
	System string `json:"system,omitempty"`
	// Folder is the working folder that the agent CLI's texts name, or "".
	Folder string `json:"folder,omitempty"`
	// Prompt is the last text of the user, byte for byte as the agent CLI sent it. It
	// does not contain texts that the agent CLI has added.
	Prompt string `json:"prompt"`
	// Texts has all texts of the user's message that ends with Prompt.
	Texts []string `json:"texts,omitempty"`
	// HasToolResult is true if a tool result follows Prompt. Then the request continues
	// the turn of Prompt.
	HasToolResult bool `json:"has_tool_result"`
	// Turns is the number of the user's messages in the request.
	Turns int `json:"turns"`
	// ToolResult is the text of the last tool result after Prompt.
	ToolResult string `json:"tool_result,omitempty"`
	Tools      []Tool `json:"tools,omitempty"`
	// Deferred has the names of tools that the agent CLI only mentions. The agent CLI
	// sends the schemas of these tools when the model asks for them.
	Deferred []string `json:"deferred,omitempty"`
	// Side is the kind of a side request. It is "" for a main request, which serves the
	// user's prompt.
	Side SideRequest `json:"side,omitempty"`

	maxTokens  int
	form       schema // form of the answer; only for SideForm
	wantsUsage bool   // the client wants the usage at the end of a chat stream
	added      string // texts that the agent CLI has added to the user's texts
	size       int    // size of the request, in bytes
}

// Tool is one tool that the agent CLI offers to the model.
type Tool struct {
	Name string `json:"name"`

	schema    schema
	custom    bool   // the tool takes plain text instead of arguments
	namespace string // the namespace of the tool, or ""
}

// maxRecordedSystem is the number of bytes of a system text that the record keeps. This
// is enough to recognize the agent CLI. Agent CLIs send 10 to 60 kB of system text with
// each request.
const maxRecordedSystem = 512

// recorded returns t in the form in which the record keeps it.
func (t Turn) recorded() Turn {
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

// inputTokens returns an estimate of the number of tokens: one token for four bytes.
func (t Turn) inputTokens() int { return t.size/4 + 1 }
