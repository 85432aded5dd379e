// Package hook brings an agent CLI's own reports to the host agent. The agent CLI
// starts a small program as its hook. This program appends the reports to a file.
// Package hook has the hook program, the format of the file, and the file's reader.
//
// The file is in the folder of an arm's generation. The file stays when the host agent
// ends, so no report is lost while no host agent runs. Package hook does not know what
// a report means. Package terminal uses reports as one witness among others.
package hook

import (
	"encoding/json"
	"path/filepath"
	"time"
)

const (
	// maxInput is how many bytes of a payload are read. The payload of a tool call may
	// have whole files.
	maxInput = 16 << 20
	// maxValue bounds one value of a payload, in bytes. A larger value is left out, and
	// its name is in Line.Cut. Commands and edits that a person can judge are much
	// smaller.
	maxValue = 64 << 10
	// maxLine bounds a whole line, in bytes. If a line is longer, values are left out,
	// the largest values first.
	maxLine = 128 << 10
	// maxFile is the size, in bytes, at which a file is full. A full file is renamed to
	// FILE.1 and replaces the old FILE.1. So both files together are smaller than twice
	// maxFile plus one line. A file of this size has on the order of a thousand
	// reports.
	maxFile = 1 << 20
	// patience bounds the time that the hook program runs. The bound has no exceptions,
	// because the agent CLI waits for the hook program.
	patience = 2 * time.Second
	// lockTries and lockPause bound the wait for another hook program that is
	// appending. The bound is 200 ms.
	lockTries, lockPause = 40, 5 * time.Millisecond
)

// Verb is the argument that makes a Coleo program act as the hook program.
const Verb = "hook"

// Line is one report.
type Line struct {
	Time    time.Time                  `json:"time"`    // when the hook program received the payload
	Payload map[string]json.RawMessage `json:"payload"` // as the agent CLI sent it
	Cut     []string                   `json:"cut,omitempty"`
}

// Text returns the string that the payload has for key. It returns "" if the key is
// missing or if the value has another type.
func (l Line) Text(key string) string {
	var s string
	if key == "" || json.Unmarshal(l.Payload[key], &s) != nil {
		return ""
	}
	return s
}

// Path returns the path of the file of reports. dir is the folder of an arm's
// generation.
func Path(dir string) string { return filepath.Join(dir, "hooks", "reports.jsonl") }

// wakePath returns the path of the pipe that wakes the file's reader.
func wakePath(path string) string { return filepath.Join(filepath.Dir(path), "wake") }

// oldPath returns the path that a full file gets.
func oldPath(path string) string { return path + ".1" }
