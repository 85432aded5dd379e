// Package testprogram is the small program that tests start as holders, hooks and fake agent CLIs.
//
// A test binary with all of Coleo in it has tens of megabytes. The start of a test binary takes ten times as long as
// the start of a holder of the shipped Coleo. So a test builds the small program once, and starts it many times. If
// the small program cannot be built, the test binary itself plays its roles.
package testprogram

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder"
	"coleo.dev/hook"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/inside"
	"coleo.dev/window/pane"
)

// Under the name Fake, the program is a fake agent CLI. It is a holder under the name Hold, or with Hold as its
// first argument.
const (
	Fake = "fakeagent"
	Hold = "hold"
)

// Play plays the role that the command line names, and then ends the process. It returns if the command line names
// no role.
func Play(argv []string) {
	name, verb, args := filepath.Base(argv[0]), "", []string(nil)
	if len(argv) > 1 {
		verb, args = argv[1], argv[2:]
	}
	switch {
	case name == Fake:
		os.Exit(fakeagent.Main(argv[1:]))
	case name == Hold, verb == Hold:
		exit(holder.Serve(os.Stdin, os.Stdout))
	case verb == hook.Verb:
		playHook(args)
	case verb == pane.Verb && len(args) == 1:
		exit(pane.Run(args[0], os.Environ()))
	}
	if run := roles[verb]; run != nil && len(args) > 0 {
		exit(run(args))
	}
}

// roles contains the roles that Play selects only by the first argument. The key is that
// argument.
var roles = map[string]func([]string) error{
	inside.StartVerb: inside.Start, inside.EnterVerb: inside.Enter, inside.ProxyVerb: inside.Proxy,
	container.StartVerb: container.Start, container.InitVerb: container.Init, container.CleanVerb: container.Clean,
}

// playHook is the hook program. At its end, playHook executes another program instead of returning. Otherwise the
// race detector would make this process sleep for a second, and the agent CLI would wait.
func playHook(args []string) {
	hook.Run(args, os.Stdin)
	_ = syscall.Exec("/bin/true", []string{"true"}, nil)
	os.Exit(0)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// built is the folder with the program, or "" if there is none. It is beside the test binary, which every sandbox of
// a test sees.
var built = sync.OnceValue(func() string {
	if underRace { // the test binary plays the roles, so that the race detector watches them
		return ""
	}
	dir, err := os.MkdirTemp(filepath.Dir(self()), "testprogram-")
	if err != nil {
		return ""
	}
	// `go run` keeps the linked program in the build cache, and `go build` does not. So only the first test binary
	// after a change links the program. With -exec cp, `go run` copies the program instead of starting it.
	build := exec.Command("go", "run", "-ldflags", "-s -w", "-exec", "cp",
		"coleo.dev/conformance/testprogram/program", filepath.Join(dir, "coleo"))
	if build.Run() != nil {
		os.RemoveAll(dir)
		return ""
	}
	return dir
})

// self returns the path of the test binary.
func self() string {
	path, err := os.Executable()
	if err != nil {
		path, _ = filepath.Abs(os.Args[0])
	}
	return path
}

// Path returns the path of the program. The first call builds it.
func Path() string {
	if dir := built(); dir != "" {
		return filepath.Join(dir, "coleo")
	}
	return self()
}

// Run runs the tests of a test binary, and deletes the program after them. It returns the exit code of the tests.
func Run(m interface{ Run() int }) int {
	defer func() {
		if dir := built(); dir != "" {
			os.RemoveAll(dir)
		}
	}()
	return m.Run()
}

// HoldCommand returns the command line that becomes a holder. Coleo's own command line has the same form, so a harness
// uses the program in it as the hook, too.
func HoldCommand() []string { return []string{Path(), Hold, "--stdin"} }
