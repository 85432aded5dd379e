package qwen

import (
	"encoding/json"
	"strings"

	"coleo.dev/record"
)

// threads lists Qwen Code's conversations.
var threads = record.Files{
	Source:  conversations,
	Decoder: newDecoder,
	Line:    readHeader,
}

// headerLine contains the fields of a line that describe the whole conversation (0.24.4).
type headerLine struct {
	Cwd     string `json:"cwd"`
	Session string `json:"sessionId"`
	Subtype string `json:"subtype"`
	Payload struct {
		Title string `json:"customTitle"`
	} `json:"systemPayload"`
	ForkedFrom json.RawMessage `json:"forkedFrom"`
}

func readHeader(raw []byte, h *record.Header) {
	var l headerLine
	if json.Unmarshal(raw, &l) != nil && l.Session == "" {
		return
	}
	if h.Folder == "" {
		h.Folder = l.Cwd
	}
	if from := string(l.ForkedFrom); from != "" && from != "null" {
		h.Hidden = record.HiddenFork
	}
	if l.Subtype == "custom_title" && strings.TrimSpace(l.Payload.Title) != "" {
		h.Title = l.Payload.Title
	}
}
