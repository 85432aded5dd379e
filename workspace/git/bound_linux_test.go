package git

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestAProgramAndItsChildrenHaveTheBound(t *testing.T) {
	t.Parallel()
	ways := []bool{false, true}
	if !canTrace() { // for example because somebody traces the test
		ways = ways[:1]
	}
	for _, trace := range ways {
		var out strings.Builder
		argv := []string{shell, "-c", "ulimit -d; sh -c 'ulimit -d'; exit"}
		cmd, err := startWithin(1<<30, trace, argv, func(argv []string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.SysProcAttr, cmd.Stdout = &syscall.SysProcAttr{}, &out
			return cmd
		})
		if err != nil {
			t.Fatal(err)
		}
		if shells := cmd.Args[2] != argv[2]; shells == trace {
			t.Errorf("a shell sets the bound: %t, want %t", shells, !trace)
		}
		if err := cmd.Wait(); err != nil || out.String() != "1048576\n1048576\n" {
			t.Errorf("the bounds in KiB are %q, %v", out.String(), err)
		}
	}
}
