// Package hook carries what an agent CLI reports of itself: the tiny program
// that the agent CLI starts as its hook, the file that this one appends to, and
// the reader of that file.
//
// The file lives in the folder of an arm's generation and outlives the host
// agent, so that nothing is lost while none runs. What a report means is not
// known here: package terminal weighs it as one witness among others.
package hook

import (
	"encoding/json"
	"path/filepath"
	"time"
)

const (
	// maxInput is how much of a payload is read, in bytes: tools may carry whole
	// files.
	maxInput = 16 << 20
	// maxValue is how large one value of a payload may be, in bytes; larger ones
	// are left out, and named in Line.Cut. A command or an edit that a person can
	// judge is far smaller.
	maxValue = 64 << 10
	// maxLine bounds a whole line, in bytes: the largest values go first.
	maxLine = 128 << 10
	// maxFile is the size, in bytes, from which on a file becomes the old one,
	// FILE.1, in whose place it steps: so both together stay below twice this and
	// a line. It holds some thousand reports.
	maxFile = 1 << 20
	// patience bounds how long the hook program runs, whatever happens: the agent
	// CLI waits for it.
	patience = 2 * time.Second
	// lockTries and lockPause bound how long it waits for another one that
	// appends: 200 ms.
	lockTries, lockPause = 40, 5 * time.Millisecond
)

// Verb is the argument that makes a program of Coleo the hook program.
const Verb = "hook"

// Line is one report.
type Line struct {
	Time    time.Time                  `json:"time"`    // when the hook program got it
	Payload map[string]json.RawMessage `json:"payload"` // as the agent CLI gave it
	Cut     []string                   `json:"cut,omitempty"`
}

// Text returns a value of the payload that is a string, else "".
func (l Line) Text(key string) string {
	var s string
	if key == "" || json.Unmarshal(l.Payload[key], &s) != nil {
		return ""
	}
	return s
}

// Path returns where the reports of the generation in that folder are kept.
func Path(dir string) string { return filepath.Join(dir, "hooks", "reports.jsonl") }

// wakePath is the pipe beside a file by which its reader is woken.
func wakePath(path string) string { return filepath.Join(filepath.Dir(path), "wake") }

// oldPath is what a file becomes when it is full.
func oldPath(path string) string { return path + ".1" }
