package coleo

import (
	"errors"
	"fmt"
)

// Code names a kind of failure that a user may see. The HTTP status and the exit code
// depend on the Code. See docs/cli.md.
type Code string

// The codes of errors that reach users.
const (
	EInvalid      Code = "invalid"             // the request itself is wrong
	ENotFound     Code = "not_found"           // no such arm, harness, host, model
	EConflict     Code = "conflict"            // the name is taken, or the arm is in the wrong state
	EUnauthorized Code = "unauthorized"        // no token, or a wrong one
	EForbidden    Code = "forbidden"           // the caller may not do this, for example with a wrong Origin
	EUnavailable  Code = "unavailable"         // serve or a host agent cannot be reached
	ENotInstalled Code = "not_installed"       // the agent CLI is not on this machine
	EBlocked      Code = "waiting_approval"    // a dialog is open; see Error.Dialog
	EBusy         Code = "busy"                // the agent CLI works and does not queue, or somebody else has the lease
	EUnrecognised Code = "screen_unrecognised" // no rule matches the screen, so nothing may be typed; see Error.Screen
	EPromptLost   Code = "prompt_lost"         // nobody can prove that the prompt arrived; see Error.Screen
	EUnsettled    Code = "unsettled"           // a dialog hides whether the prompt arrived; events tell it later; see Error.Dialog
	EStale        Code = "stale"               // the answered dialog is no longer on the screen
	EExited       Code = "exited"              // the agent CLI has ended; see Error.Screen
	EUnproven     Code = "unproven"            // a process or holder could not prove that it belongs to the arm
	ETimeout      Code = "timeout"             // the action did not finish in time
	EUnsupported  Code = "unsupported"         // this harness cannot carry out the request
	EInternal     Code = "internal"            // a fault of Coleo

	// These codes mean that a prompt was delivered but its turn did not finish.
	ETurnAsks        Code = "turn_asks"        // a dialog is open; see Error.Dialog
	ETurnFailed      Code = "turn_failed"      // the agent CLI shows an error
	ETurnInterrupted Code = "turn_interrupted" // the turn was interrupted, or one of its dialogs was denied
	ETurnUnproven    Code = "turn_unproven"    // the screen is idle, and nothing proves that the turn has ended
)

// Error is a failure with a code. Its message is one line that says what failed, where,
// and what to do. Dialog and Screen are set for the codes that mention them.
type Error struct {
	Code    Code    `json:"code"`
	Message string  `json:"message"`
	Dialog  *Dialog `json:"dialog,omitempty"`
	Screen  *Screen `json:"screen,omitempty"`

	// Delivered says whether the agent CLI took the prompt. Delivered is nil if nobody
	// knows whether the agent CLI took it. Delivered is also nil if the failed request
	// was not a prompt.
	Delivered *bool `json:"delivered,omitempty"`

	wrapped error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an *Error with this code. It formats the message as fmt.Errorf does.
// If the format wraps an error with %w, Unwrap returns that error.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), wrapped: errors.Unwrap(err)}
}

// Unwrap returns the wrapped error, or nil if e wraps no error.
func (e *Error) Unwrap() error { return e.wrapped }

// ErrorCode returns the code of the first *Error in err's chain. It returns EInternal for
// any other error, and "" for nil.
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
