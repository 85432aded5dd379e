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

	// System is the system text. A record keeps only its first 512 bytes.
	System string `json:"system,omitempty"`
	// Folder is the working folder that the system text names, or "".
	Folder string `json:"folder,omitempty"`
	// Prompt is the user's last text, byte for byte as sent, without the agent CLI's
	// additions.
	Prompt string `json:"prompt"`
	// Texts are all texts of the message that ends with Prompt.
	Texts []string `json:"texts,omitempty"`
	// HasToolResult reports that a tool's result came after Prompt: the agent CLI
	// continues the same turn of the user.
	HasToolResult bool `json:"has_tool_result"`
	// Turns is the number of the user's messages in the request.
	Turns int `json:"turns"`
	// ToolResult is the text of the last such result.
	ToolResult string `json:"tool_result,omitempty"`
	Tools      []Tool `json:"tools,omitempty"`
	// Side is the kind of a request that the agent CLI makes for itself, or "" for one
	// that serves the user's prompt.
	Side SideRequest `json:"side,omitempty"`

	maxTokens  int
	form       schema // of the answer, with SideForm
	wantsUsage bool   // a chat stream ends with usage only on request
	added      string // texts that the agent CLI put among the user's
	size       int    // of the request, in bytes
}

// Tool is one tool that the agent CLI offers to the model.
type Tool struct {
	Name string `json:"name"`

	schema    schema
	custom    bool   // takes plain text instead of arguments
	namespace string // the namespace in which it is called, or ""
}

// maxRecordedSystem bounds the system text kept per request, in bytes. It is enough to
// recognise the sender. Agent CLIs send 10 to 60 kB of system text each time.
const maxRecordedSystem = 512

// recorded returns t as the record keeps it.
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

// inputTokens replaces a tokenizer by a fixed rule: four bytes make a token.
func (t Turn) inputTokens() int { return t.size/4 + 1 }
