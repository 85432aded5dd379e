// Package hook carries an agent CLI's own reports. It has the small program that the agent
// CLI starts as its hook. It also has the file that this program appends to, and the reader
// of that file.
//
// The file is in the folder of an arm's generation. It outlives the host agent, so no
// report is lost while none runs. This package does not know what a report means. Package
// terminal uses reports as one witness among others.
package hook

import (
	"encoding/json"
	"path/filepath"
	"time"
)

const (
	// maxInput is how much of a payload is read, in bytes. Tools may carry whole files.
	maxInput = 16 << 20
	// maxValue bounds one value of a payload, in bytes. A larger value is left out, and
	// its name is in Line.Cut. A command or an edit that a person can judge is far
	// smaller.
	maxValue = 64 << 10
	// maxLine bounds a whole line, in bytes. The largest values are left out first.
	maxLine = 128 << 10
	// maxFile is the size, in bytes, at which a file is renamed to FILE.1 and replaces
	// the former FILE.1. Both files together therefore stay below twice this size and a
	// line. A file of this size holds some thousand reports.
	maxFile = 1 << 20
	// patience bounds how long the hook program runs in any case, because the agent CLI
	// waits for it.
	patience = 2 * time.Second
	// lockTries and lockPause bound the wait for another hook program that appends, to
	// 200 ms.
	lockTries, lockPause = 40, 5 * time.Millisecond
)

// Verb is the argument that makes a Coleo program act as the hook program.
const Verb = "hook"

// Line is one report.
type Line struct {
	Time    time.Time                  `json:"time"`    // when the hook program received it
	Payload map[string]json.RawMessage `json:"payload"` // as the agent CLI sent it
	Cut     []string                   `json:"cut,omitempty"`
}

// Text returns a string value of the payload, or "" for another type or a missing key.
func (l Line) Text(key string) string {
	var s string
	if key == "" || json.Unmarshal(l.Payload[key], &s) != nil {
		return ""
	}
	return s
}

// Path returns the path of the reports of the generation in that folder.
func Path(dir string) string { return filepath.Join(dir, "hooks", "reports.jsonl") }

// wakePath returns the path of the pipe that wakes the file's reader.
func wakePath(path string) string { return filepath.Join(filepath.Dir(path), "wake") }

// oldPath returns the new name of a full file.
func oldPath(path string) string { return path + ".1" }
