package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/armenv"
	"coleo.dev/wire"
)

// maxEnvFile is the largest size of an env file, in bytes. It is much larger than an arm's
// environment may be.
const maxEnvFile = 1 << 20

// lookup returns the value of a variable in the caller's environment.
type lookup = func(name string) (value string, found bool)

// environment returns the variables that the flags -e and --env-file set. If a name has several
// values, the last value wins. A value from -e wins over a value from a file.
func (f spawnFlags) environment(c *cobra.Command) (map[string]string, error) {
	env := map[string]string{}
	for _, path := range f.envFiles {
		if err := readEnvFile(c, path, env); err != nil {
			return nil, err
		}
	}
	for _, text := range f.env {
		name, value, err := parseVariable(text, os.LookupEnv)
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "-e: %w", err)
		}
		env[name] = value
	}
	return env, armenv.Check(env)
}

// parseVariable parses NAME=VALUE. If the text is only a NAME, parseVariable returns the value that
// NAME has in the caller's environment.
func parseVariable(text string, caller lookup) (name, value string, err error) {
	name, value, assigned := strings.Cut(text, "=")
	if err := armenv.CheckName(name); err != nil {
		return "", "", err
	}
	if assigned {
		return name, value, nil
	}
	value, found := caller(name)
	if !found {
		return "", "", coleo.Errorf(coleo.EInvalid,
			"%s is not set in your environment: set and export it, or write %s=VALUE", name, name)
	}
	return name, value, nil
}

// readEnvFile reads the env file at `path`, and adds its variables to the map `env`. It warns if other users
// can read the file.
func readEnvFile(c *cobra.Command, path string, env map[string]string) error {
	text, mode, err := readBounded(path)
	if err != nil {
		return err
	}
	if mode.IsRegular() && mode.Perm()&0o044 != 0 {
		c.PrintErrf("coleo: note: others can read %s (mode %04o), and it may hold secrets: 'chmod 600 %s'\n",
			path, mode.Perm(), path)
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		n++
		name, value, err := envLine(line, os.LookupEnv)
		if err != nil {
			return coleo.Errorf(coleo.EInvalid, "%s, line %d: %w", path, n, err)
		}
		if name != "" {
			env[name] = value
		}
	}
	return nil
}

func readBounded(path string) (text string, mode os.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, coleo.Errorf(coleo.EInvalid, "--env-file: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	}
	if err == nil && len(raw) > maxEnvFile {
		err = errors.New("it is larger than 1 MiB")
	}
	if err != nil {
		return "", 0, coleo.Errorf(coleo.EInvalid, "--env-file %s: %v", path, err)
	}
	return string(raw), info.Mode(), nil
}

// envLine parses one line of an env file. For an empty line or a comment, it returns an empty name.
// Its errors never contain the value of a variable.
func envLine(line string, caller lookup) (name, value string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	if rest, ok := strings.CutPrefix(line, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
		line = strings.TrimLeft(rest, " \t")
	}
	name, raw, assigned := strings.Cut(line, "=")
	if !assigned {
		return parseVariable(line, caller)
	}
	if name, _, err = parseVariable(name+"=", caller); err != nil {
		return "", "", err
	}
	if value, err = envValue(raw); err != nil {
		return "", "", coleo.Errorf(coleo.EInvalid, "the value of %s %w", name, err)
	}
	return name, value, nil
}

// envValue removes the quotes from a value:
//   - Inside '…', every character is literal.
//   - Inside "…", a backslash escapes a quote, a backslash, a dollar sign and a
//     backtick. The sequences \n, \r and \t have the same meaning as in C.
//
// Variables in a value are not expanded.
func envValue(raw string) (string, error) {
	if raw == "" || raw[0] != '"' && raw[0] != '\'' {
		return unquotedValue(raw), nil
	}
	quote, value, rest := raw[0], strings.Builder{}, raw[1:]
	for i := 0; i < len(rest); i++ {
		switch b := rest[i]; {
		case b == quote:
			afterQuote := strings.TrimLeft(rest[i+1:], " \t")
			if afterQuote != "" && (afterQuote[0] != '#' || len(afterQuote) == len(rest[i+1:])) {
				return "", errors.New("continues after its closing quote")
			}
			return value.String(), nil
		case b == '\\' && quote == '"' && i+1 < len(rest):
			i++
			value.WriteString(unescaped(rest[i]))
		default:
			value.WriteByte(b)
		}
	}
	return "", fmt.Errorf("has no closing %c on its line", quote)
}

// unescaped returns what a backslash followed by the byte b stands for.
func unescaped(b byte) string {
	switch b {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$', '`':
		return string(b)
	}
	return `\` + string(b)
}

// unquotedValue returns a value that is written without quotes. The value ends before a # that
// follows a blank, because such a # begins a comment.
func unquotedValue(raw string) string {
	for i := range len(raw) {
		if raw[i] == '#' && i > 0 && (raw[i-1] == ' ' || raw[i-1] == '\t') {
			raw = raw[:i]
			break
		}
	}
	return strings.TrimSpace(raw)
}

// envNames returns the names of the variables that the user has given to an arm. Their values are
// not available, because only the arm's host agent knows them.
func envNames(arm coleo.Arm) []string { return arm.SpawnConfig().EnvNames }

// takeSandbox adds the sandbox that the flags describe to the request. If no flag describes a
// sandbox, an existing arm keeps its sandbox.
func (f *spawnFlags) takeSandbox() error {
	switch {
	case f.sandbox == coleo.Sandbox{}:
		return nil
	case f.sandbox.Kind == "" && f.sandbox.Limit != "":
		return coleo.Errorf(coleo.EInvalid, "--sandbox-limit needs a sandbox: add --sandbox %s", coleo.SandboxBwrap)
	case f.sandbox.Kind == "" && f.sandbox.Image != "":
		return coleo.Errorf(coleo.EInvalid, "--sandbox-image needs a container: add --sandbox %s", coleo.SandboxPodman)
	case f.sandbox.Kind == "":
		return coleo.Errorf(coleo.EInvalid, "--sandbox-net needs a sandbox: add --sandbox %s", coleo.SandboxBwrap)
	}
	asked := f.sandbox
	f.q.Sandbox = &asked
	return asked.Check()
}

// takeTemplate adds the values of the template to the request. A value that a flag has set stays
// unchanged.
func (f *spawnFlags) takeTemplate(c *cobra.Command) error {
	if f.template.Name != "" && f.q.Recover {
		return coleo.Errorf(coleo.EInvalid,
			"--template is for a new arm, and --recover for a stopped one: nothing was started")
	}
	if err := f.template.Fill(c, &f.q); err != nil {
		return err
	}
	if f.noTree {
		f.q.Worktree = nil
	}
	return nil
}

// checkNew returns EConflict if the user has named a template and the arm already exists.
func (f *spawnFlags) checkNew(ctx context.Context, client *apiclient.Client) error {
	if f.template.Name == "" {
		return nil
	}
	arm, err := client.Arm(ctx, f.q.Name)
	if err == nil {
		return coleo.Errorf(coleo.EConflict,
			"--template is for a new arm, and %s exists: choose another name; nothing was started",
			arm.Name)
	}
	if coleo.ErrorCode(err) != coleo.ENotFound {
		return err
	}
	return nil
}

// newBranch is the value of --worktree if the user names no branch. The help shows it.
const newBranch = "coleo/NAME"

// takeWorktree adds to the request the worktree that the flags ask for.
func (f *spawnFlags) takeWorktree() error {
	switch {
	case f.worktree != "" && f.noTree:
		return coleo.Errorf(coleo.EInvalid, "--worktree and --no-worktree contradict each other: give one of them")
	case f.worktree == "" && f.base != "":
		return coleo.Errorf(coleo.EInvalid, "--base %s sets where the branch of a worktree begins: add --worktree", f.base)
	case f.worktree == "" && f.noSetup:
		return coleo.Errorf(coleo.EInvalid, "--no-setup is for the set-up of a worktree: add --worktree")
	case f.worktree == "" && len(f.with) > 0:
		return coleo.Errorf(coleo.EInvalid, "--with %s names a further repository for worktrees: add --worktree", f.with[0])
	case f.worktree == "":
		return nil
	}
	f.q.Worktree = &wire.Worktree{Branch: f.worktree, Base: f.base, NoSetup: f.noSetup}
	for _, folder := range f.with {
		folder, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return coleo.Errorf(coleo.EInvalid, "the folder %s does not exist: name a folder in another repository with --with",
				folder)
		}
		f.q.Worktree.With = append(f.q.Worktree.With, folder)
	}
	if f.worktree == newBranch {
		f.q.Worktree.Branch = ""
	}
	return nil
}
