package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/printable"
)

// exitCodes maps error codes to exit codes. Error codes that are not in the map have the exit code
// 1. docs/cli.md lists the exit codes for users.
var exitCodes = map[coleo.Code]int{
	coleo.EInvalid:      2,
	coleo.EUnsupported:  2,
	coleo.ENotInstalled: 3,
	coleo.ENotFound:     4,
	coleo.EConflict:     5,
	coleo.EBlocked:      6,
	coleo.EPromptLost:   7,
	coleo.EUnavailable:  8,
	coleo.ETimeout:      9,
	coleo.EUnrecognised: 10,
	coleo.EBusy:         11,
	coleo.EStale:        12,
	coleo.EExited:       13,
	coleo.EUnproven:     14,
	coleo.EUnauthorized: 15,
	coleo.EForbidden:    15,

	coleo.ETurnAsks:        16,
	coleo.ETurnFailed:      17,
	coleo.ETurnInterrupted: 18,
	coleo.ETurnUnproven:    19,

	coleo.EUnsettled:    20,
	coleo.EThreadLocked: 21,
	coleo.EAnswerUnfit:  22,
}

// Exit is an error with an exit code and without a message. It is for verbs that have
// already printed their result.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Execute runs one command line and returns the exit code. If there is an error,
// Execute prints it.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var quiet Exit
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	err = inWords(err)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = coleo.Errorf(coleo.EInternal, "%s ended because of Ctrl-C or a signal; what it has ordered may still happen, "+
			"and arms continue to run: 'coleo arm list' shows them", called.CommandPath())
	}
	asJSON, _ := root.PersistentFlags().GetBool("json")
	printError(root.ErrOrStderr(), err, asJSON)
	return ExitCode(coleo.ErrorCode(err))
}

// ExitCode returns the exit code for an error code, or 1 if exitCodes does not contain it.
func ExitCode(code coleo.Code) int {
	if known, ok := exitCodes[code]; ok {
		return known
	}
	return 1
}

// Shown escapes those characters of a message that a terminal would obey, except tabs and line
// ends. A message can contain such characters, because an arm chooses the names of its files and
// branches.
func Shown(message string) string {
	lines := strings.Split(message, "\n")
	for n, line := range lines {
		parts := strings.Split(line, "\t")
		for m, part := range parts {
			parts[m] = printable.Escaped(part)
		}
		lines[n] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// printError writes an error as one line for users or, if asJSON is true, as JSON.
func printError(w io.Writer, err error, asJSON bool) {
	var e *coleo.Error
	if !errors.As(err, &e) {
		e = coleo.Errorf(coleo.EInternal, "%v", err)
	}
	if text := err.Error(); text != e.Message { // the verb has added something, or there are several errors
		whole := *e
		whole.Message, e = text, &whole
	}
	if asJSON {
		_ = JSON(w).Encode(map[string]any{"error": e})
		return
	}
	fmt.Fprintln(w, "coleo:", Shown(e.Message))
	if e.Screen != nil {
		for _, line := range e.Screen.Lines {
			if line != "" {
				fmt.Fprintln(w, "  |", Shown(line))
			}
		}
	}
}
