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

	CallerOperator CallerKind = "operator" // a program with an operator token
)

// Caller is the person or program that gives a command. The zero Caller has proved nothing.
type Caller struct {
	Kind    CallerKind `json:"kind"`
	ID      string     `json:"id,omitempty"`      // the id of the browser, or the token's fingerprint or name
	UID     int        `json:"uid"`               // the user id of the process; set only with CallerSocket
	PID     int        `json:"pid,omitempty"`     // the pid of the process; set only with CallerSocket
	Program string     `json:"program,omitempty"` // the program in the process's command line; set only with CallerSocket
}

// Audit is the record of one command that was meant to change something. It says who
// gave the command, and what the result was. Coleo writes the record before it carries
// out the command.
type Audit struct {
	ID      int64           `json:"id"` // the id of the record; a later command has a higher id
	Time    time.Time       `json:"time"`
	Caller  Caller          `json:"caller"`
	Command string          `json:"command"`          // the name of the API's operation, such as prompt-arm
	Arm     string          `json:"arm,omitempty"`    // the arm's name when the command was given
	Detail  json.RawMessage `json:"detail,omitempty"` // the body of the request, without secrets and typed keys
	Result  AuditResult     `json:"result"`
	Error   string          `json:"error,omitempty"` // why the command failed
}

// AuditResult is the result of a command: the Code of an error, or one of the constants
// below. The database stores results, so the meaning of a result never changes.
type AuditResult string

// These constants are the results that are not errors.
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

// TokenScope is a group of commands that an operator token can allow. The database stores scopes,
// so the meaning of a scope never changes.
type TokenScope string

// These constants are the scopes of operator tokens.
const (
	MayRead   TokenScope = "read"   // lists, screens, events, runs
	MayPrompt TokenScope = "prompt" // prompts, the queue, interrupting
	MaySpawn  TokenScope = "spawn"  // starting and ending arms
	// MayApprove allows the token's program to answer dialogs and questions, and to change an
	// arm's mode. Package api/token excludes some arms, for example those that the token itself
	// has started.
	MayApprove TokenScope = "approve"
)

// TokenScopes returns all scopes.
func TokenScopes() []TokenScope { return []TokenScope{MayRead, MayPrompt, MaySpawn, MayApprove} }

// OperatorToken gives a program the right to command Coleo, within limits that a person has chosen.
// Anyone who has the token's value has these rights. Coleo stores only a hash of the value.
type OperatorToken struct {
	Name    string       `json:"name"`
	Scopes  []TokenScope `json:"scopes"`
	Created time.Time    `json:"created"`
	Expires time.Time    `json:"expires"`
	Used    time.Time    `json:"used,omitzero"` // the time of the last use, to the minute; zero means never
	// Arms limits the token to some arms. The keys are the ids of the arms. The values are the
	// names of the arms at the time when the token was created. If Arms is empty, the token reaches
	// all arms.
	Arms map[string]string `json:"arms,omitempty"`
	// Labels are the labels that an arm must have so that the token reaches the arm. An arm that
	// the token starts gets these labels. If Labels is empty, the token also reaches arms without
	// labels.
	Labels Labels `json:"labels,omitempty"`
	// RunsIn is the id of the arm in which the token's program runs. It is "" for a program outside
	// of arms.
	RunsIn string `json:"runsIn,omitempty"`
	// Prompted contains the ids of the arms that the token has prompted or started.
	Prompted []string `json:"prompted,omitempty"`

	Hash string `json:"-"` // the SHA-256 of the value, in hexadecimal digits
}

// Limited reports whether the token reaches only some arms.
func (t OperatorToken) Limited() bool { return len(t.Arms) > 0 || len(t.Labels) > 0 }

// Reaches reports whether the token reaches the arm with the given id and labels.
func (t OperatorToken) Reaches(arm string, labels Labels) bool {
	_, named := t.Arms[arm]
	return (named || len(t.Arms) == 0) && labels.Has(t.Labels)
}
