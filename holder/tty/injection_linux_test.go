package tty

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"coleo.dev/conformance/stranger"
	"coleo.dev/holder/process"
)

// injector types a letter into its own terminal and prints the result.
const injector = `import fcntl, sys, termios
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("typed")
except OSError as e:
    print("errno", e.errno)
`

func TestMain(m *testing.M) {
	stranger.Play(map[string]func(args []string) int{"injector": playInjector})
	os.Exit(m.Run())
}

// playInjector runs the injector on a terminal. If args[0] is "sudo", the injector may gain rights.
func playInjector(args []string) int {
	output, err := injects(args[0] == "sudo")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(output)
	return 0
}

// injects returns the output of the injector and the no_new_privs flag of its process.
func injects(allowSudo bool) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", err
	}
	term, err := Open(80, 24)
	if err != nil {
		return "", err
	}
	defer term.Close()
	script := injector + `print([l for l in open("/proc/self/status") if "NoNewPrivs" in l][0].split()[1])`
	err = WithoutInjection(allowSudo, func() error {
		return term.Start([]string{python, "-c", script}, []string{"PATH=" + os.Getenv("PATH")}, "/", process.Group{})
	})
	if err != nil {
		return "", err
	}
	raw, _ := io.ReadAll(term.master) // ends with EIO
	_, err = term.Wait()
	return strings.ReplaceAll(string(raw), "\r", ""), err
}

func TestNoProgramTypesIntoItsOwnTerminal(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 { // root needs no no_new_privs for the filter
		if output, err := injects(false); err != nil || output != "errno 1\n0\n" {
			t.Errorf("as root: %q, %v; want errno 1 (EPERM), and sudo as before", output, err)
		}
	}
	for rights, want := range map[string]string{
		"no":   "errno 1\n1\n",
		"sudo": "typed\n0\n",
	} {
		if injectionRefused() {
			want = "errno 5\n0\n"
		}
		_, out := stranger.Start(t, "injector", rights)
		output, err := io.ReadAll(out)
		if got := strings.TrimPrefix(string(output), "x"); err != nil || !strings.HasSuffix(got, want) {
			t.Errorf("as a user, with %s rights: %q, %v; want %q", rights, output, err, want)
		}
	}
}
