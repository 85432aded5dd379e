package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/printable"
)

// The code in this file starts a project's script as the child of a guard, a process that ends all of the script's
// processes: see Guarded.

const (
	// DefaultTimeout is how long a script may run if config.toml contains no time. It is long
	// because a set-up often downloads packages.
	DefaultTimeout = 10 * time.Minute
	// MaxTimeout is the longest time that config.toml may contain. It is bounded because the command that starts an arm
	// waits for the script.
	MaxTimeout = 20 * time.Minute
	// endGrace is how long the guard may take to end a script's processes. It searches for them for
	// at most 5 s.
	endGrace = 10 * time.Second
	// maxOutput is how much of the output is written to a file, in bytes.
	maxOutput = 10 << 20
	// An error shows the end of the output: at most lastBytes bytes and lastLines lines.
	lastBytes = 2 << 10
	lastLines = 12
)

// Runner starts scripts.
type Runner struct {
	Trusts Trusts
	// Guard is the command line of a program that calls Guarded with its arguments.
	Guard   []string
	Environ []string      // the user's environment; scripts receive a part of it
	Timeout time.Duration // 0 means DefaultTimeout
}

// passed lists the variables that a script receives from the user's environment. They contain paths
// of programs and caches, the language, and the way to the network. Other variables are not passed,
// because they may contain keys.
var passed = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR"}

// Start describes one run of a script.
type Start struct {
	Script Script
	Dir    string   // a folder with the files of the commit, in which the script runs
	Output string   // the file to which the output is written
	Mark   string   // the text by which Sweep finds the processes of the script
	Env    []string // additional environment variables
	Held   *os.File // an open lock file that all processes keep open; nil if there is none
}

// Run runs a script and waits for its end. After that, no process of the script is left. The error
// contains the exit code and the last lines of the output. It is ETimeout if the script took too
// long, and EForbidden if the script is not trusted.
func (r Runner) Run(ctx context.Context, s Start) error {
	if err := r.Trusts.Require(s.Script); err != nil {
		return err
	}
	if err := s.checkFiles(); err != nil {
		return err
	}
	if len(r.Guard) == 0 {
		return coleo.Errorf(coleo.EUnsupported, "this program runs no scripts: %s was not run", s.Script.Path)
	}
	file, err := os.OpenFile(s.Output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the output of %s: %w", s.Script.Path, err)
	}
	limit := r.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &output{file: file}
	err = r.start(inTime, s, out)
	err = errors.Join(err, endMarked(s.Mark), file.Close())
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s was ended: %w", s.Script.Path, ctx.Err())
	case inTime.Err() != nil:
		return coleo.Errorf(coleo.ETimeout, "%s was ended, because it took longer than %v; %s", s.Script.Path, limit,
			out.end(s.Output))
	}
	return coleo.Errorf(coleo.EInternal, "%s failed: %w; %s", s.Script.Path, err, out.end(s.Output))
}

// start runs the guard, which runs the script. When the guard's input ends, the guard ends all
// processes of the script. The input also ends if this process is killed.
func (r Runner) start(ctx context.Context, s Start, out io.Writer) error {
	program := filepath.Join(s.Dir, s.Script.Path)
	argv := append(append([]string{}, r.Guard...), s.Mark, "--", program)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, out, out
	cmd.Env = append(environment(r.Environ), s.Env...)
	cmd.WaitDelay = endGrace
	if s.Held != nil {
		cmd.ExtraFiles = []*os.File{s.Held}
	}
	open, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		open.Close()
		select {
		case err = <-ended:
		case <-time.After(endGrace):
			_ = cmd.Process.Kill()
			err = <-ended
		}
		err = errors.Join(ctx.Err(), err)
	}
	return err
}

func environment(environ []string) []string {
	env := []string{"TERM=dumb"}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		for _, p := range passed {
			if name == p {
				env = append(env, entry)
			}
		}
	}
	return env
}

// checkFiles returns an error if a file on the disk differs from the trusted file. The two can differ because a git
// attribute can change a file's content at checkout.
func (s Start) checkFiles() error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range s.Script.Files {
		hash, err := hashOnDisk(root, f.Path)
		if err != nil {
			return fmt.Errorf("read %s before %s runs: %w", f.Path, s.Script.Path, err)
		}
		if hash != f.Hash {
			return coleo.Errorf(coleo.EForbidden, "%s is checked out with another content than the commit has, perhaps by "+
				".gitattributes: %s was not run", f.Path, s.Script.Path)
		}
	}
	return nil
}

// output keeps the beginning of a script's output in a file, and the end of the output in memory.
type output struct {
	mu      sync.Mutex
	file    io.Writer
	written int64
	last    []byte
}

// Write never returns an error, so that a full disk does not end the script.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := max(0, maxOutput-o.written)
	_, _ = o.file.Write(data[:min(int64(len(data)), room)])
	if o.written <= maxOutput && o.written+int64(len(data)) > maxOutput {
		fmt.Fprintf(o.file, "\n[coleo: the rest of the output is not kept]\n")
	}
	o.written += int64(len(data))
	o.last = append(o.last, data[max(0, len(data)-lastBytes):]...)
	o.last = bytes.Clone(o.last[max(0, len(o.last)-lastBytes):])
	return len(data), nil
}

// end returns the last lines of the output, and the path of the file with the output.
func (o *output) end(path string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written == 0 {
		return "it printed nothing"
	}
	lines := strings.Split(strings.TrimSpace(printable.Marked(string(o.last))), "\n")
	lines = lines[max(0, len(lines)-lastLines):]
	return fmt.Sprintf("its whole output is in %s; its last lines:\n%s", path, strings.Join(lines, "\n"))
}
