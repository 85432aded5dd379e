// Package stranger runs parts of a test as another user of the machine, the stranger.
//
// A test binary calls Play at the beginning of its TestMain, with all parts that the stranger can
// run. A test then calls Start with the name of one of these parts.
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

// UID is the user id and the group id of the stranger. On Debian, the user `nobody` has this id.
const UID = 65534

// partVariable is the name of an environment variable. Its value is the name of the
// part that a process runs.
const partVariable = "COLEO_TEST_STRANGER"

// Play runs the part that Start named, and exits with the part's result. If Start did not start this
// process, Play does nothing. If the part is unknown, Play exits with 2.
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

// Start runs the test binary again, as the user stranger. In the new process, Play runs the part with the given
// name and arguments. Start returns the process, and a reader for its standard output. The standard error of
// the process is that of the test. When the test ends, Start kills the process.
//
// Only root can become another user, so Start skips the test if any other user runs it.
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

// write writes a program to a file. It holds syscall.ForkLock, so that no process is started
// meanwhile. Such a process would keep the file open until it runs its own program. The kernel does
// not run a file that is open for writing.
func write(path string, program []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, program, 0o755)
}

// program copies the test binary to a file that the stranger can read, and returns the
// path of that file.
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
