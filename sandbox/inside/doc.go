// Package inside contains the two small programs of a sandbox. The first program runs outside of
// the sandbox and becomes the program that makes the sandbox. The second program runs inside and
// becomes the agent CLI. Both are part of Coleo's holder program.
package inside

// These are verbs of a Coleo program. After each verb come "--" and a command line.
const (
	// StartVerb makes this process ignore the signals that end or stop a program. Then this process
	// becomes the program that makes the sandbox and waits for the agent CLI. If that program did
	// not ignore the signals, a signal to the whole process group would end it before the agent
	// CLI. The agent CLI would then end too. As root, StartVerb also makes the devices of the
	// sandbox read-only.
	StartVerb = "sandbox-start"
	// EnterVerb makes this process stop ignoring signals, and sets the filter for system calls.
	// Then this process becomes the agent CLI.
	EnterVerb = "sandbox-enter"
)
