package coleo

import (
	"encoding/json"
	"time"
)

// CallerKind is how a caller has shown that it may command Coleo. Kinds are stored. They
// never change meaning.
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
	ID      string     `json:"id,omitempty"`      // the browser's id or the token's fingerprint; never a secret
	UID     int        `json:"uid"`               // for a socket
	PID     int        `json:"pid,omitempty"`     // for a socket
	Program string     `json:"program,omitempty"` // for a socket: the process's program, from its command line
}

// Audit is the record of one command that was to change something: who gave it, and its
// result. It is written before the command is carried out.
type Audit struct {
	ID      int64           `json:"id"` // in order of arrival
	Time    time.Time       `json:"time"`
	Caller  Caller          `json:"caller"`
	Command string          `json:"command"`          // operation of the API, such as prompt-arm
	Arm     string          `json:"arm,omitempty"`    // the arm's name at the time
	Detail  json.RawMessage `json:"detail,omitempty"` // the request, without secrets and typed keys
	Result  AuditResult     `json:"result"`
	Error   string          `json:"error,omitempty"` // why it failed
}

// AuditResult is the result of a command: an error's Code, or one of these. Results are
// stored.
type AuditResult string

// The results that are not errors.
const (
	// AuditOpen means that the command is being carried out, or that serve ended
	// meanwhile. In the second case the result is unknown.
	AuditOpen AuditResult = "open"
	AuditDone AuditResult = "done"
)

// AuditFilter selects commands. An empty field matches all.
type AuditFilter struct {
	Arm    string
	Before int64 // only lower ids; 0 starts with the newest
	Limit  int
}
