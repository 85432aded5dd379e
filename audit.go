package coleo

import (
	"encoding/json"
	"time"
)

// CallerKind is the way in which a caller has proved that it may command Coleo. The
// database stores kinds, so the meaning of a kind never changes.
type CallerKind string

// The kinds of caller.
const (
	CallerSocket CallerKind = "socket" // a process of the user, over serve's socket
	CallerCookie CallerKind = "cookie" // a browser that is signed in
	CallerToken  CallerKind = "token"  // a program with the API token
)

// Caller is who gives a command. The zero Caller has proved nothing.
type Caller struct {
	Kind    CallerKind `json:"kind"`
	ID      string     `json:"id,omitempty"`      // the browser's id or the token's fingerprint; never a secret
	UID     int        `json:"uid"`               // for a socket
	PID     int        `json:"pid,omitempty"`     // for a socket
	Program string     `json:"program,omitempty"` // for a socket: the process's program, from its command line
}

// Audit is the record of one command that was meant to change something. It says who
// gave the command, and what the result was. Coleo writes the record before it carries
// out the command.
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

// AuditResult is the result of a command. It is an error's Code or one of the constants
// below. The database stores results.
type AuditResult string

// The results that are not errors.
const (
	// AuditOpen means that serve is carrying out the command. If serve ended during the
	// command, the result stays AuditOpen, and the real result is unknown.
	AuditOpen AuditResult = "open"
	AuditDone AuditResult = "done"
)

// AuditFilter selects records of commands. An empty field matches every command.
type AuditFilter struct {
	Arm    string
	Before int64 // select only lower ids; 0 means to start with the newest record
	Limit  int
}
