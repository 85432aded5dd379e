package copilot

import (
	"encoding/json"

	"coleo.dev/record"
)

// threads lists Copilot CLI's conversations.
var threads = record.Files{
	Source:  conversations,
	Decoder: newDecoder,
	Line:    readHeader,
}

// headerLine contains the fields of a line that describe the whole conversation (1.0.102).
type headerLine struct {
	Type string `json:"type"`
	Data struct {
		Session string `json:"sessionId"`
		Context struct {
			Cwd string `json:"cwd"`
		} `json:"context"`
	} `json:"data"`
}

func readHeader(raw []byte, h *record.Header) {
	var l headerLine
	if json.Unmarshal(raw, &l) != nil && l.Type == "" || l.Type != "session.start" || h.Folder != "" {
		return
	}
	h.Folder = l.Data.Context.Cwd
}
