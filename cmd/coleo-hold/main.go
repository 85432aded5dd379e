// Command coleo-hold is a small program for holders, hooks of agent CLIs, and windows.
// `make build` embeds coleo-hold into coleo. Coleo starts coleo-hold to hold an arm. A
// holder that runs coleo-hold needs a fifteenth of the memory of a holder that runs
// coleo. An agent CLI runs coleo-hold as its hook, because a hook must start fast. The
// command lines of coleo-hold are the same as those of coleo, but coleo-hold knows only
// these ten:
//
//	coleo hold --stdin
//	coleo hold --dir DIR -- COMMAND [ARG...]
//	coleo hook FILE [--then COMMAND [ARG...]] [PAYLOAD]
//	coleo window FOLDER
//	coleo sandbox-start [--network FILE] [--limit LIMITS] -- COMMAND [ARG...]
//	coleo sandbox-enter [--network] [--limit LIMITS] -- COMMAND [ARG...]
//	coleo sandbox-proxy FILE PROCESS
//	coleo container-start FILE -- COMMAND [ARG...]
//	coleo container-init SOCKET
//	coleo container-clean FILE MARK
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"coleo.dev"
	"coleo.dev/holder"
	"coleo.dev/hook"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/inside"
	"coleo.dev/window/pane"
)

// gcPercent makes the first garbage collection start at a heap of 2 MB instead of 4 MB. So the
// garbage from clients' requests takes less memory. A holder itself creates almost no garbage.
const gcPercent = 50

func main() {
	debug.SetGCPercent(gcPercent)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "coleo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == hook.Verb:
		hook.Run(args[1:], os.Stdin)
		return nil
	case len(args) == 2 && args[0] == pane.Verb:
		return pane.Run(args[1], os.Environ())
	case len(args) > 2 && args[0] == inside.StartVerb:
		return inside.Start(args[1:])
	case len(args) > 2 && args[0] == inside.EnterVerb:
		return inside.Enter(args[1:])
	case len(args) == 3 && args[0] == inside.ProxyVerb:
		return inside.Proxy(args[1:])
	case len(args) > 3 && args[0] == container.StartVerb:
		return container.Start(args[1:])
	case len(args) == 2 && args[0] == container.InitVerb:
		return container.Init(args[1:])
	case len(args) == 3 && args[0] == container.CleanVerb:
		return container.Clean(args[1:])
	case len(args) >= 2 && args[0] == "hold" && args[1] == "--stdin":
		return holder.Serve(os.Stdin, os.Stdout)
	case len(args) > 4 && args[0] == "hold" && args[1] == "--dir" && args[3] == "--":
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		code, err := holder.Hold(args[2], slices.Clone(args[4:]), os.Environ(), []string{self, "hold", "--stdin"})
		if err == nil && code != 0 {
			os.Exit(code)
		}
		return err
	}
	return coleo.Errorf(coleo.EInvalid, "this program is started by coleo; see coleo hold --help")
}
