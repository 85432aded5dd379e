// Package inside has the two small programs of a sandbox. The first one runs outside and
// becomes the program that makes the sandbox. The second one runs inside and becomes the
// agent CLI. Both are part of Coleo's holder program.
package inside

// Verbs of a Coleo program. Behind each of them is "--" and a command line.
const (
	// StartVerb makes this process deaf to signals that end or stop a program, and becomes
	// the program that makes the sandbox. That program waits for the agent CLI. Otherwise a
	// signal for the whole process group would end it first, and the agent CLI with it.
	// As root, StartVerb also makes the devices read-only that the sandbox will have.
	StartVerb = "sandbox-start"
	// EnterVerb undoes that, sets the filter for system calls, and becomes the agent CLI.
	EnterVerb = "sandbox-enter"
)
