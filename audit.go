package coleo

import (
	"encoding/json"
	"time"
)

// CallerKind is the way in which a caller has proved its right to command Coleo. The
// database stores kinds, so the meaning of a kind never changes.
type CallerKind string

// The kinds of caller.
const (
	CallerSocket CallerKind = "socket" // a process of the same user, over serve's socket
	CallerCookie CallerKind = "cookie" // a browser that is signed in
	CallerToken  CallerKind = "token"  // a program with the API token
)

// Caller says who gives a command. The zero Caller has proved nothing.
type Caller struct {
	Kind    CallerKind `json:"kind"`
	ID      string     `json:"id,omitempty"`      // the id of the browser or the fingerprint of the token; never a secret
	UID     int        `json:"uid"`               // for CallerSocket: the user id of the process
	PID     int        `json:"pid,omitempty"`     // for CallerSocket: the pid of the process
	Program string     `json:"program,omitempty"` // for CallerSocket: the program, from the command line of the process
}

// Audit is the record of one command that was meant to change something. It says who
// gave the command, and what the result was. Coleo writes the record before it carries
// out the command.
type Audit struct {
	ID      int64           `json:"id"` // a later command has a higher id
	Time    time.Time       `json:"time"`
	Caller  Caller          `json:"caller"`
	Command string          `json:"command"`          // the operation of the API, such as prompt-arm
	Arm     string          `json:"arm,omitempty"`    // the arm's name at the time of the command
	Detail  json.RawMessage `json:"detail,omitempty"` // the body of the request, without secrets and typed keys
	Result  AuditResult     `json:"result"`
	Error   string          `json:"error,omitempty"` // why the command failed
}

// AuditResult is the result of a command: the Code of an error, or one of the constants
// below. The database stores results, so the meaning of a result never changes.
type AuditResult string

// The results that are not errors.
const (
	// AuditOpen means that serve has begun to carry out the command. If serve ends
	// during the command, the record keeps this result, and the real result is unknown.
	AuditOpen AuditResult = "open"
	AuditDone AuditResult = "done"
)

// AuditFilter selects records of commands. An empty field matches all records.
type AuditFilter struct {
	Arm    string
	Before int64 // select only records with lower ids; 0 selects records with any id
	Limit  int
}
