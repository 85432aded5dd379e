package modelserver

import "strings"

// The names of the dialects in records and scripts.
const (
	anthropicDialect = "anthropic-messages"
	chatDialect      = "openai-chat"
	responsesDialect = "openai-responses"
	geminiDialect    = "gemini-content"
)

// Turn is one request to the model, independent of its dialect.
type Turn struct {
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`
	Stream  bool   `json:"stream"`

	// System is the system text. A record keeps only the first 512 bytes of it.
	System string `json:"system,omitempty"`
	// Folder is the working folder that the system text names, or "".
	Folder string `json:"folder,omitempty"`
	// Prompt is the last text of the user, byte for byte as it was sent. The agent
	// CLI's additions are left out.
	Prompt string `json:"prompt"`
	// Texts are all texts of the message that has Prompt as its last text.
	Texts []string `json:"texts,omitempty"`
	// HasToolResult is true if the result of a tool came after Prompt. The agent CLI
	// then continues the same turn of the user.
	HasToolResult bool `json:"has_tool_result"`
	// Turns is the number of messages of the user in the request.
	Turns int `json:"turns"`
	// ToolResult is the text of the last result of a tool after Prompt.
	ToolResult string `json:"tool_result,omitempty"`
	Tools      []Tool `json:"tools,omitempty"`
	// Deferred are the names of tools that the agent CLI only mentions. It sends their
	// schemas when the model asks for them.
	Deferred []string `json:"deferred,omitempty"`
	// Side is the kind of a request that the agent CLI makes for itself. It is "" for a
	// request that serves the user's prompt.
	Side SideRequest `json:"side,omitempty"`

	maxTokens  int
	form       schema // form of the answer; for SideForm
	wantsUsage bool   // the client asked for usage at the end of a chat stream
	added      string // texts that the agent CLI put among the user's texts
	size       int    // size of the request, in bytes
}

// Tool is one tool that the agent CLI offers to the model.
type Tool struct {
	Name string `json:"name"`

	schema    schema
	custom    bool   // the tool takes plain text instead of arguments
	namespace string // the namespace to call the tool in, or ""
}

// maxRecordedSystem is the largest part of a request's system text that is kept, in
// bytes. It is enough to recognize the sender. Agent CLIs send 10 to 60 kB of system
// text with each request.
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

// inputTokens counts tokens by a fixed rule instead of a tokenizer: four bytes are one
// token.
func (t Turn) inputTokens() int { return t.size/4 + 1 }
