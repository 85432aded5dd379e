package coleo

import (
	"errors"
	"fmt"
)

// Code is a kind of failure that users see. It determines the HTTP status and the exit
// code: see docs/cli.md.
type Code string

// The codes of errors that reach users.
const (
	EInvalid      Code = "invalid"      // the request itself is wrong
	ENotFound     Code = "not_found"    // no such arm, harness, host, model
	EConflict     Code = "conflict"     // the name is taken, or the arm is in the wrong state
	EUnauthorized Code = "unauthorized" // the token is missing or wrong
	// the caller is not allowed to do this, for example because of a wrong Origin
	EForbidden    Code = "forbidden"
	EUnavailable  Code = "unavailable"      // serve or a host agent cannot be reached
	ENotInstalled Code = "not_installed"    // the agent CLI is not on this machine
	EBlocked      Code = "waiting_approval" // a dialog is open; see Error.Dialog
	// the agent CLI is working and cannot queue the prompt, or somebody else has the lease
	EBusy         Code = "busy"
	EUnrecognised Code = "screen_unrecognised" // no rule matches the screen, so Coleo types nothing; see Error.Screen
	EPromptLost   Code = "prompt_lost"         // nothing proves that the prompt arrived; see Error.Screen
	// a dialog (see Error.Dialog) covers the screen, so Coleo cannot see whether the prompt arrived; a
	// later event in the log says whether it did
	EUnsettled    Code = "unsettled"
	EThreadLocked Code = "thread_locked" // another arm has the conversation
	EStale        Code = "stale"         // the answered dialog is no longer on the screen
	EExited       Code = "exited"        // the agent CLI has ended; see Error.Screen
	EUnproven     Code = "unproven"      // a process or holder could not prove that it belongs to the arm
	ETimeout      Code = "timeout"       // the action did not finish in time
	EUnsupported  Code = "unsupported"   // this harness cannot carry out the request
	EInternal     Code = "internal"      // a fault of Coleo

	// The following codes mean that a prompt was delivered, but that its turn did not end with an
	// answer that the caller can use.
	ETurnAsks   Code = "turn_asks"   // a dialog is open; see Error.Dialog
	ETurnFailed Code = "turn_failed" // the agent CLI shows an error
	// the turn was interrupted, one of its dialogs was denied, or the arm was killed
	ETurnInterrupted Code = "turn_interrupted"
	ETurnUnproven    Code = "turn_unproven" // the screen is idle, but nothing proves that the turn has ended
	EAnswerUnfit     Code = "answer_unfit"  // the turn finished, and its answer does not fit the schema of the prompt
)

// Error is a failure with a code. Its message is one line that says what failed, where
// it failed, and what the user can do. The comment on each code says whether Dialog or
// Screen can be set.
type Error struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Dialog  *Dialog `json:"dialog,omitempty"`
	Screen  *Screen `json:"screen,omitempty"`

	// Delivered says whether the agent CLI took the prompt. It is nil if this is
	// unknown, or if the failed request was not a prompt.
	Delivered *bool `json:"delivered,omitempty"`

	wrapped error
}

// Error returns the message of the error.
func (e *Error) Error() string { return e.Message }

// Errorf returns an *Error with the given code. It formats the message as fmt.Errorf
// does. If the format wraps an error with %w, Unwrap returns the wrapped error.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), wrapped: errors.Unwrap(err)}
}

// Unwrap returns the wrapped error, or nil if e wraps no error.
func (e *Error) Unwrap() error { return e.wrapped }

// ErrorCode returns the code of the first *Error in the chain of err. If there is no
// *Error in the chain, it returns EInternal. If err is nil, it returns "".
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return EInternal
}
