package modelserver

import "strings"

// The dialects, as they stand in records and scripts.
const (
	AnthropicMessages = "anthropic-messages"
	OpenAIChat        = "openai-chat"
	OpenAIResponses   = "openai-responses"
	GeminiContent     = "gemini-content"
)

// Turn is one request to the model, in words that no dialect owns.
type Turn struct {
	Dialect string `json:"dialect"`
	Model   string `json:"model,omitempty"`
	Stream  bool   `json:"stream"`

	// System is the system text. A record keeps its first 512 bytes only.
	System string `json:"system,omitempty"`
	// Folder is the working folder that the system text names, or "".
	Folder string `json:"folder,omitempty"`
	// Prompt is the user's last text, byte for byte as it was sent, without
	// what the agent CLI added to it.
	Prompt string `json:"prompt"`
	// Texts are all texts of the message that Prompt ends.
	Texts []string `json:"texts,omitempty"`
	// HasToolResult tells that a tool's result came after Prompt: the agent
	// CLI goes on with the same turn of the user.
	HasToolResult bool `json:"has_tool_result"`
	// Turns is how many messages of the user the request holds.
	Turns int `json:"turns"`
	// ToolResult is the text of the last such result.
	ToolResult string `json:"tool_result,omitempty"`
	Tools      []Tool `json:"tools,omitempty"`
	// Side is the kind of a request that the agent CLI makes for itself, or
	// "" for one that serves the user's prompt.
	Side Side `json:"side,omitempty"`

	maxTokens  int
	form       schema // of the answer, with SideForm
	wantsUsage bool   // a chat stream ends with usage only if asked to
	added      string // what the agent CLI put among the user's texts
	size       int    // of the request, in bytes
}

// Tool is one tool that the agent CLI offers to the model.
type Tool struct {
	Name string `json:"name"`

	schema    schema
	custom    bool   // takes plain text instead of arguments
	namespace string // that it is called in, or ""
}

// recordedSystem bounds the system text kept per request, in bytes: enough to
// recognise who sent it; agent CLIs send 10 to 60 kB of it each time.
const recordedSystem = 512

// recorded returns t as the record keeps it.
func (t Turn) recorded() Turn {
	if len(t.System) > recordedSystem {
		t.System = strings.ToValidUTF8(t.System[:recordedSystem], "")
	}
	tools := make([]Tool, len(t.Tools))
	for i, tool := range t.Tools {
		tools[i] = Tool{Name: tool.Name}
	}
	t.Tools, t.added = tools, ""
	return t
}

// inputTokens is a steady stand-in for a tokenizer: four bytes make a token.
func (t Turn) inputTokens() int { return t.size/4 + 1 }
