package claudecode

import (
	"encoding/json"
	"strings"

	"coleo.dev/record"
)

// threads lists Claude Code's conversations.
var threads = record.Files{
	Source:  conversations,
	Decoder: newDecoder,
	Line:    readHeader,
}

// headerLine contains the fields of a line that describe the whole conversation (2.1.329).
type headerLine struct {
	Type      string `json:"type"`
	Cwd       string `json:"cwd"`
	Sidechain bool   `json:"isSidechain"`
	Session   string `json:"sessionId"`
	// Requested is the id of the conversation for which the reply was first written. Only a reply that was
	// copied from another conversation has this field.
	Requested  string `json:"requestSessionId"`
	ForkedFrom struct {
		Session string `json:"sessionId"`
	} `json:"forkedFrom"`
	Summary string `json:"summary"`     // in a summary line
	Custom  string `json:"customTitle"` // in a custom-title line
	Own     string `json:"aiTitle"`     // in an ai-title line
}

// readHeader sets the fields of h that a line of the record reveals. A title that the user has chosen
// replaces all other titles.
func readHeader(raw []byte, h *record.Header) {
	var l headerLine
	if json.Unmarshal(raw, &l) != nil && l.Type == "" {
		return
	}
	if h.Folder == "" {
		h.Folder = l.Cwd
	}
	switch {
	case l.ForkedFrom.Session != "", l.Requested != "" && l.Requested != l.Session:
		h.Hidden = record.HiddenFork
	case l.Sidechain && h.Hidden == "" && h.Prompts == 0 && (l.Type == "user" || l.Type == "assistant"):
		h.Hidden = record.HiddenSubagent
	}
	for _, title := range []string{l.Summary, l.Own, l.Custom} {
		if strings.TrimSpace(title) != "" {
			h.Title = title
		}
	}
}
