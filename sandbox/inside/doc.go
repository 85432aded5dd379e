// Package inside contains the small programs of a sandbox:
//   - StartVerb runs outside of the sandbox, and becomes the program that makes the sandbox.
//   - EnterVerb runs inside, and becomes the agent CLI.
//   - ProxyVerb runs outside for as long as the sandbox exists. Only a sandbox that may reach some hosts, but
//     not all, has such a program.
//
// All of them are part of Coleo's holder program.
package inside

import (
	"slices"

	"coleo.dev"
)

// These are verbs of a Coleo program.
const (
	// StartVerb makes this process ignore the signals that end or stop a program. Then the process becomes the
	// program that makes the sandbox and waits for the agent CLI. The program inherits the ignored signals.
	// Otherwise a signal to the whole process group would end it first, and the agent CLI with it. As root,
	// StartVerb also makes the devices of the sandbox read-only.
	//
	// The arguments are options, "--" and a command line. With NetworkOption and the path of a file with a
	// proxy.Config, StartVerb also starts ProxyVerb.
	StartVerb = "sandbox-start"
	// EnterVerb makes this process stop ignoring signals, and sets the filter for system calls. Then
	// the process becomes the agent CLI. The arguments are options, "--" and a command line. With
	// NetworkOption, EnterVerb first sends listeners to the process of ProxyVerb.
	EnterVerb = "sandbox-enter"
	// ProxyVerb runs the proxy through which a sandbox reaches the allowed hosts: see package proxy. Only
	// StartVerb starts it. It ends when its parent process ends.
	ProxyVerb = "sandbox-proxy"
	// NetworkOption is the option for a sandbox that reaches only some hosts.
	NetworkOption = "--network"
	// LimitOption sets the limits of the arm. Its value is a coleo.SandboxLimit. StartVerb sets the
	// limits of the arm's control group, and EnterVerb sets rlimits.
	LimitOption = "--limit"
)

// options contains the options of a verb.
type options struct {
	network bool
	rules   string // only for StartVerb: the path of a file with a proxy.Config
	limit   coleo.SandboxLimits
}

// commandLine separates the options from the command line after "--".
func commandLine(verb string, args []string) (o options, argv []string, err error) {
	at := slices.Index(args, "--")
	if at < 0 || at == len(args)-1 {
		return o, nil, coleo.Errorf(coleo.EInvalid, "%s needs -- and a command line", verb)
	}
	for rest := args[:at]; len(rest) > 0 && err == nil; {
		switch {
		case rest[0] == NetworkOption && verb == EnterVerb:
			o.network, rest = true, rest[1:]
		case rest[0] == NetworkOption && len(rest) > 1:
			o.network, o.rules, rest = true, rest[1], rest[2:]
		case rest[0] == LimitOption && len(rest) > 1:
			o.limit, err = coleo.SandboxLimit(rest[1]).Parse()
			rest = rest[2:]
		default:
			err = coleo.Errorf(coleo.EInvalid, "%s has no option %q", verb, rest[0])
		}
	}
	return o, args[at+1:], err
}
