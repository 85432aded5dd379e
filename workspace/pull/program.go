package pull

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/processgroup"
)

// This file runs the programs gh and glab.

const (
	// callTime is the time limit of one call of gh or glab, which sends a single request over the
	// network.
	callTime = time.Minute
	// mostOutput is the size of the largest response, in bytes. A page of 100 comments fits,
	// because a comment on GitHub has at most 64 kB.
	mostOutput = 8 << 20
	mostErrors = 8 << 10 // how much of the error output is kept, in bytes
	// endWait is how long a killed program may take to close its pipes.
	endWait = 5 * time.Second
)

// program is gh or glab.
type program struct {
	name, path string
	environ    []string
	host       string
}

// findProgram returns the program for a host: gh if the host's name contains "github", and glab if
// it contains "gitlab". For any other host, it returns the program with which the user is logged in
// there.
func findProgram(ctx context.Context, environ []string, host string) (program, error) {
	names := []string{"gh", "glab"}
	switch {
	case strings.Contains(host, "github"):
		names = names[:1]
	case strings.Contains(host, "gitlab"):
		names = names[1:]
	}
	for _, name := range names {
		path := lookFor(name, environ)
		if path == "" {
			continue
		}
		p := program{name, path, quietEnviron(environ), host}
		if len(names) == 1 {
			return p, nil
		}
		if _, err := p.run(ctx, nil, mostErrors, "auth", "status", "--hostname", host); err == nil {
			return p, nil
		}
	}
	return program{}, coleo.Errorf(coleo.ENotInstalled, "the host %[2]s needs %[1]s, which is not installed or not "+
		"logged in: nothing was pushed; install it, and log in with 'auth login --hostname %[2]s'",
		strings.Join(names, " or "), host)
}

// lookFor searches the PATH of `environ` for a program, and returns its path. It returns "" if the PATH does not
// contain the program.
func lookFor(name string, environ []string) string {
	for _, entry := range environ {
		list, found := strings.CutPrefix(entry, "PATH=")
		if !found {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path
			}
		}
	}
	return ""
}

// quietEnviron returns the user's environment without git's variables. It adds variables that keep the
// programs from asking questions and using colours.
func quietEnviron(environ []string) []string {
	var out []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "GIT_") {
			out = append(out, entry)
		}
	}
	return append(out, "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_PROMPT=1", "GLAB_CHECK_UPDATE=false",
		"NO_COLOR=1", "GH_PAGER=cat", "PAGER=cat")
}

// failure is the error of a program that ended with an exit code other than 0.
type failure struct {
	program, text string
	// status is the HTTP status in the error output, such as 404, or 0 if the output contains none.
	status int
}

func (f *failure) Error() string { return f.program + ": " + f.text }

// api calls the API of the host, and decodes the response into `out`. If `body` is nil, the method is GET.
// Otherwise the method is POST, and the program reads the body as JSON from standard input. So a text that a
// person wrote is never in the command line.
func (p program) api(ctx context.Context, path string, body, out any) error {
	args := []string{"api", "--hostname", p.host, path}
	var input []byte
	if body != nil {
		var err error
		if input, err = json.Marshal(body); err != nil {
			return err
		}
		args = []string{"api", "--hostname", p.host, "--method", "POST", "--header", "Content-Type: application/json",
			"--input", "-", path}
	}
	data, err := p.run(ctx, input, mostOutput, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the answer of %s about %s: %w", p.name, path, err)
	}
	return nil
}

// run runs the program without a shell. It returns the output, or only its end if the output has more than
// `most` bytes. If the program fails, run returns a *failure.
func (p program) run(ctx context.Context, input []byte, most int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", p.environ, bytes.NewReader(input)
	processgroup.Own(cmd, endWait)
	out, errs := &processgroup.Tail{Most: most}, &processgroup.Tail{Most: mostErrors}
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.Kept, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s took too long, or was stopped: %w", p.name, ctx.Err())
	case !errors.As(err, &exit):
		return nil, fmt.Errorf("run %s: %w", p.name, err)
	}
	f := &failure{program: p.name, text: firstLine(string(errs.Kept))}
	if f.text == "" {
		f.text = fmt.Sprintf("exit code %d", exit.ExitCode())
	}
	if _, rest, ok := strings.Cut(string(errs.Kept), "HTTP "); ok {
		_, _ = fmt.Sscanf(rest, "%d", &f.status)
	}
	var answer struct {
		Message string `json:"message"`
		Errors  []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	if json.Unmarshal(out.Kept, &answer) == nil {
		for _, e := range answer.Errors {
			if e.Message != "" {
				f.text += ": " + oneLine(e.Message)
			}
		}
	}
	return nil, f
}

func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return oneLine(line)
		}
	}
	return ""
}
