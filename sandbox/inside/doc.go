// Package inside has the two small programs of a sandbox. The first one runs outside and
// becomes the program that makes the sandbox. The second one runs inside and becomes the
// agent CLI. Both are part of Coleo's holder program.
package inside

// Verbs of a Coleo program. After each verb come "--" and a command line.
const (
	// StartVerb makes this process ignore the signals that end or stop a program. Then this
	// process becomes the program that makes the sandbox, which waits for the agent CLI.
	// Otherwise a signal to the whole process group would end that program first, and with
	// it the agent CLI. As root, StartVerb also makes the devices of the sandbox read-only.
	StartVerb = "sandbox-start"
	// EnterVerb stops ignoring signals, sets the filter for system calls, and becomes the
	// agent CLI.
	EnterVerb = "sandbox-enter"
)
