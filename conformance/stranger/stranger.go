// Package stranger runs parts of a test as another user of the machine.
//
// A test binary calls Play at the start of its TestMain. It passes the parts that a
// stranger can play. A test then calls Start with the name of a part.
package stranger

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// UID is the user id and group id of the stranger. On Debian it is the user nobody.
const UID = 65534

// partVariable is the environment variable that names the part that a process plays.
const partVariable = "COLEO_TEST_STRANGER"

// Play runs the part for which this process was started. It then exits with the result
// of the part. If the part is unknown, it exits with 2. If the process was not started
// by Start, Play returns.
func Play(parts map[string]func(args []string) int) {
	name := os.Getenv(partVariable)
	if name == "" {
		return
	}
	part, ok := parts[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "stranger: there is no part %q\n", name)
		os.Exit(2)
	}
	os.Exit(part(os.Args[1:]))
}

// Start starts this test binary as the stranger, who plays the given part. The result
// out is the standard output of the process. Its standard error goes to the standard
// error of the test. Unless the test runs as root, it is skipped, because only root can
// become another user. The process is killed at the end of the test.
func Start(t testing.TB, part string, args ...string) (cmd *exec.Cmd, out io.Reader) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a part of this test as another user")
	}
	cmd = exec.Command(program(t), args...)
	cmd.Env = []string{partVariable + "=" + part, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: UID, Gid: UID}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the stranger: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, out
}

// write writes a program. No process is started meanwhile: until it runs its own program, it
// would have the file open for writing, and the kernel runs no such file.
func write(path string, program []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, program, 0o755)
}

// program copies the test binary to a path at which the stranger can read it.
func program(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "stranger")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = write(path, self)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
