package coleo

import (
	"encoding/json"
	"time"
)

// CallerKind says how a caller has shown that it may command Coleo. Kinds are
// stored: they never change meaning.
type CallerKind string

// The kinds of caller.
const (
	CallerSocket CallerKind = "socket" // a process of the user, over serve's socket
	CallerCookie CallerKind = "cookie" // a browser that is signed in
	CallerToken  CallerKind = "token"  // a program with the API token
)

// Caller is who gives a command. The zero Caller has shown nothing.
type Caller struct {
	Kind    CallerKind `json:"kind"`
	ID      string     `json:"id,omitempty"`      // of the browser, or the token's fingerprint; never a secret
	UID     int        `json:"uid"`               // over the socket
	PID     int        `json:"pid,omitempty"`     // over the socket
	Program string     `json:"program,omitempty"` // of that process, as its command line names it
}

// Audit is one command that was to change something: who gave it, and what came
// of it. It is written down before the command is carried out.
type Audit struct {
	ID      int64           `json:"id"` // in the order of arrival
	Time    time.Time       `json:"time"`
	Caller  Caller          `json:"caller"`
	Command string          `json:"command"`          // operation of the API, such as prompt-arm
	Arm     string          `json:"arm,omitempty"`    // by its name at the time
	Detail  json.RawMessage `json:"detail,omitempty"` // the request, without secrets and keys
	Result  AuditResult     `json:"result"`
	Error   string          `json:"error,omitempty"` // why it failed
}

// AuditResult is what came of a command: an error's Code, or one of these.
// Results are stored.
type AuditResult string

// The results that are no errors.
const (
	AuditOpen AuditResult = "open" // carried out now, or serve ended meanwhile: what came of it is not known
	AuditDone AuditResult = "done"
)

// AuditFilter picks commands. Empty fields pick all.
type AuditFilter struct {
	Arm    string
	Before int64 // those with a lower id; 0: from the newest on
	Limit  int
}
