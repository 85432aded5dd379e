// Package inside contains the small programs of a sandbox. The first program runs outside of the
// sandbox and becomes the program that makes the sandbox. The second program runs inside and becomes
// the agent CLI. The third program runs outside as long as the sandbox, if the sandbox reaches only
// some hosts. All of them are part of Coleo's holder program.
package inside

import (
	"slices"

	"coleo.dev"
)

// These are verbs of a Coleo program.
const (
	// StartVerb makes this process ignore the signals that end or stop a program. Then this process
	// becomes the program that makes the sandbox and waits for the agent CLI. If that program did
	// not ignore the signals, a signal to the whole process group would end it before the agent
	// CLI. The agent CLI would then end too. As root, StartVerb also makes the devices of the
	// sandbox read-only. After the verb come "--" and a command line. NetworkOption and the path of
	// a file with a proxy.Config can be before "--". Then StartVerb also starts ProxyVerb.
	StartVerb = "sandbox-start"
	// EnterVerb makes this process stop ignoring signals, and sets the filter for system calls.
	// Then this process becomes the agent CLI. After the verb come "--" and a command line. If
	// NetworkOption is before "--", EnterVerb first gives the process of ProxyVerb its listeners.
	EnterVerb = "sandbox-enter"
	// ProxyVerb is the way out of a sandbox without a network: see package proxy. Only StartVerb
	// starts it. It ends when its parent process ends.
	ProxyVerb = "sandbox-proxy"
	// NetworkOption is for a sandbox that reaches only some hosts.
	NetworkOption = "--network"
)

// commandLine returns what comes before and after "--".
func commandLine(verb string, args []string) (options, argv []string, err error) {
	at := slices.Index(args, "--")
	if at < 0 || at == len(args)-1 {
		return nil, nil, coleo.Errorf(coleo.EInvalid, "%s needs -- and a command line", verb)
	}
	return args[:at], args[at+1:], nil
}
