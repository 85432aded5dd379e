package gemini

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"coleo.dev/record"
)

// threads lists Gemini CLI's conversations.
var threads = record.Files{
	Source:  conversations,
	Decoder: newDecoder,
	Line:    readHeader,
	Beside:  readFolder,
}

// headerLine contains the fields of a line that describe the whole conversation (0.61.0).
type headerLine struct {
	Session string `json:"sessionId"`
	Kind    string `json:"kind"` // "main", or "subagent"
	Set     struct {
		Summary string `json:"summary"`
	} `json:"$set"`
}

func readHeader(raw []byte, h *record.Header) {
	var l headerLine
	if json.Unmarshal(raw, &l) != nil && l.Session == "" {
		return
	}
	if h.ID == "" {
		h.ID = l.Session
	}
	if l.Kind == "subagent" {
		h.Hidden = record.HiddenSubagent
	}
	if strings.TrimSpace(l.Set.Summary) != "" {
		h.Title = l.Set.Summary
	}
}

// folderFile is the name of the file that contains the path of the work folder. The file and the folder
// "chats" are in the same folder.
const folderFile = ".project_root"

// longestPath is the largest number of bytes that are read from folderFile. It is the largest size
// of a path on Linux.
const longestPath = 4096

// readFolder adds the path of the work folder to the header. It adds nothing for an older version
// of Gemini CLI, which does not write folderFile.
func readFolder(path string, h *record.Header) {
	file, err := os.OpenFile(filepath.Join(filepath.Dir(filepath.Dir(path)), folderFile),
		os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	raw, err := io.ReadAll(io.LimitReader(file, longestPath))
	if err == nil {
		h.Folder = strings.TrimSpace(string(raw))
	}
}
