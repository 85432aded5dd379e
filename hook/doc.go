// Package hook brings an agent CLI's own reports to the host agent. The agent CLI runs a small
// program, the hook program, as its hook. The hook program appends each report to a file. Package
// hook contains the hook program, the format of the file, and the file's Reader.
//
// Each generation of an arm has its own folder with such a file, for example g2 after the first
// restart. The file remains after the host agent has ended, so no report is lost while no host
// agent runs. Package hook does not know what a report means. Package terminal compares the reports
// with what the screen and other sources say about the agent CLI.
package hook

import (
	"encoding/json"
	"path/filepath"
	"time"
)

const (
	// maxInput is the largest number of bytes that are read from a payload. It is large because the
	// payload of a tool call can contain whole files.
	maxInput = 16 << 20
	// maxValue is the largest size in bytes of one value in a payload. Commands and edits that a
	// person can judge are much smaller. A larger value is left out, and its key is added to
	// Line.Cut.
	maxValue = 64 << 10
	// maxLine is the largest size in bytes of all values of a payload together. If the values are
	// larger, the largest values are left out first.
	maxLine = 128 << 10
	// maxFile is the size in bytes at which a file is full: it contains about a thousand reports. A
	// full file is renamed to FILE.1 and replaces the previous FILE.1. So each of the two files is
	// smaller than maxFile plus one line.
	maxFile = 1 << 20
	// patience is the longest time for which the hook program runs, whatever happens. The limit is
	// short because the agent CLI waits for the hook program.
	patience = 2 * time.Second
	// Together, lockTries and lockPause limit the wait for another hook program to 200 ms.
	lockTries, lockPause = 40, 5 * time.Millisecond
)

// Verb is the argument with which a Coleo program runs as the hook program.
const Verb = "hook"

// Line is one report, which is one line of the file.
type Line struct {
	Time    time.Time                  `json:"time"`    // when the hook program received the payload
	Payload map[string]json.RawMessage `json:"payload"` // the payload as the agent CLI sent it
	Cut     []string                   `json:"cut,omitempty"`
}

// Text returns the string for key in the payload. It returns "" if the key is missing
// or if its value is not a string.
func (l Line) Text(key string) string {
	var s string
	if key == "" || json.Unmarshal(l.Payload[key], &s) != nil {
		return ""
	}
	return s
}

// Path returns the path of the file of reports in the folder of an arm's generation.
func Path(dir string) string { return filepath.Join(dir, "hooks", "reports.jsonl") }

// wakePath returns the path of the pipe that wakes the Reader of the file at path.
func wakePath(path string) string { return filepath.Join(filepath.Dir(path), "wake") }

// oldPath returns the path to which a full file is renamed.
func oldPath(path string) string { return path + ".1" }
