package codex

import (
	"encoding/json"
	"strings"

	"coleo.dev/record"
)

// threads lists Codex's conversations.
var threads = record.Files{
	Source:  conversations,
	Decoder: newDecoder,
	Line:    readHeader,
}

// headerLine contains the fields of a line that describe the whole conversation (0.169.0).
type headerLine struct {
	Type    string `json:"type"`
	Payload struct {
		ID         string          `json:"id"`
		Cwd        string          `json:"cwd"`
		ForkedFrom string          `json:"forked_from_id"`
		Source     json.RawMessage `json:"source"`        // "cli", or an object for a subagent
		Thread     string          `json:"thread_source"` // "user" for a person's conversation
	} `json:"payload"`
}

// readHeader sets the fields of h that the first line of a rollout reveals. It ignores later lines,
// because the rollout of a copied conversation repeats the original's first line after its own.
func readHeader(raw []byte, h *record.Header) {
	var l headerLine
	if json.Unmarshal(raw, &l) != nil && l.Type == "" || l.Type != "session_meta" || h.ID != "" {
		return
	}
	h.ID, h.Folder = l.Payload.ID, l.Payload.Cwd
	switch source := strings.TrimSpace(string(l.Payload.Source)); {
	case strings.Contains(source, "subagent"), l.Payload.Thread == "subagent":
		h.Hidden = record.HiddenSubagent
	case l.Payload.ForkedFrom != "":
		h.Hidden = record.HiddenFork
	}
}
