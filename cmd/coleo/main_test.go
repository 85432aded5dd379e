package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/netns"
	"coleo.dev/conformance/stranger"
	"coleo.dev/hook"
	"coleo.dev/workspace/pull/fakegh"
)

// isolated is an environment variable of the process that runs the tests. If it is set, the process
// and its children are in a network namespace that has only loopback.
const isolated = "COLEO_TEST_ISOLATED"

// TestMain makes the test binary act as coleo itself or as the fake agent CLI, depending on the
// binary's name. This is necessary because coleo starts itself as serve, host agent and holder.
func TestMain(m *testing.M) {
	fakegh.Main()
	stranger.Play(map[string]func([]string) int{"squatter": playSquatter})
	switch filepath.Base(os.Args[0]) {
	case "coleo":
		if len(os.Args) > 1 && os.Args[1] == hook.Verb {
			playHook()
		}
		wallClock = jumping
		main()
	case "printer":
		os.Exit(playPrinter(os.Args[1:]))
	case machineVerb:
		os.Exit(playMachine(os.Args[1:]))
	case "rogue":
		os.Exit(playRogue(os.Args[1:]))
	case "opencode":
		os.Exit(playFakeOpenCode())
	case "fakeagent":
		os.Exit(playFake(os.Args[1:]))
	}
	if os.Getenv(isolated) == "" {
		os.Exit(netns.RunAgain(os.Environ(), isolated+"=1"))
	}
	if err := netns.LoopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// playHook is the hook program. At its end, it executes /bin/true in place of its own program.
// Otherwise the race detector would delay its end by one second, and the agent CLI would wait for
// that.
func playHook() {
	hook.Run(os.Args[2:], os.Stdin)
	_ = syscall.Exec("/bin/true", []string{"true"}, nil)
	os.Exit(0)
}

// jumping is the clock of processes whose time a test can change. It adds the offset in the file
// `clock` in COLEO_DIR to the time of day.
func jumping() time.Time {
	raw, _ := os.ReadFile(filepath.Join(os.Getenv("COLEO_DIR"), "clock"))
	jump, _ := time.ParseDuration(string(raw)) // usually there is no such file
	return time.Now().Add(jump)
}

// These are the files of the fake agent CLI in its work folder.
const (
	fakeScript  = ".fake.json"
	fakeRecord  = ".fake.jsonl"
	fakeEnviron = ".fake.env"
)

// playFake runs the fake agent CLI. Its argument is the work folder, to which it writes its record
// and its environment. With flags, it uses a model.
func playFake(args []string) int {
	if len(args) > 1 {
		return playModel(args)
	}
	if len(args) != 1 {
		fmt.Println("fakeagent: want the work folder, got", args)
		return 2
	}
	c := fakeagent.Config{Record: filepath.Join(args[0], fakeRecord)}
	env, err := json.Marshal(os.Environ())
	if err == nil {
		err = os.WriteFile(filepath.Join(args[0], fakeEnviron), env, 0o600)
	}
	if err == nil {
		c.Script, err = fakeagent.LoadScript(filepath.Join(args[0], fakeScript))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Println("fakeagent:", err)
		return 2
	}
	code, err := fakeagent.Run(context.Background(), os.Stdin, os.Stdout, c)
	if err != nil {
		fmt.Println("fakeagent:", err)
	}
	return code
}

func playModel(args []string) int {
	c, err := fakeagent.ParseFlags(args)
	if err != nil {
		fmt.Println("fakeagent:", err)
		return 2
	}
	code, err := fakeagent.Run(context.Background(), os.Stdin, os.Stdout, c)
	if err != nil {
		fmt.Println("fakeagent:", err)
	}
	return code
}
