package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"coleo.dev"
	"coleo.dev/processgroup"
)

// This file starts git, and contains the list of commands that may run.

const (
	// defaultMost is the size of the largest output that Output returns, in bytes.
	defaultMost = 64 << 20
	// maxStderr is how many bytes of the error output are kept.
	maxStderr = 16 << 10
	// killGrace is how long a killed git may take to close its pipes.
	killGrace = 5 * time.Second
)

// Call describes one start of git in a repository.
type Call struct {
	Args  []string // the command and its arguments, without "git"
	Stdin io.Reader
	// Env contains additional variables for the environment. Only the names in callerEnv are allowed.
	Env []string
	// Most is the size of the largest output, in bytes. If it is 0, defaultMost applies.
	Most int64
	// OwnIndex is the path of an index that only Coleo writes. Git uses it in place of the work folder's index. Git
	// stores the times of the work folder's files in this index, so that the next call is faster. With OwnLists, git
	// also stores which files are untracked. If OwnIndex is "", git writes no index by itself.
	OwnIndex string
	OwnLists bool
	// NoReflog makes git write no reflog. Coleo's own refs in an arm's repository need none.
	NoReflog bool
	// Stdout receives the output while git writes it, without a limit. It can be nil.
	Stdout io.Writer
	// Warn is called if git succeeds but has written to its error output. `text` is the beginning of that
	// output. Warn can be nil.
	Warn func(text string)
}

// callerEnv lists the variables that a Call may set.
var callerEnv = []string{"GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
	"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE", "GIT_REFLOG_ACTION"}

// commands lists the commands that may run. For each command, it contains the arguments that precede the caller's
// arguments.
//
// A command may be on the list only if a test shows that a hostile repository cannot start a program through this
// command. "add", "commit", "stash push", "merge", "rebase" and "cherry-pick" are not on the list, because they
// start git in submodules with any configuration. Use update-index, merge-tree, commit-tree and read-tree instead.
// "worktree" is not on the list, because it would write the path of the stand-in. That is the temporary folder that
// git uses in place of the common folder: see AddWorktree.
var commands = map[string][]string{
	"branch":           nil,
	"cat-file":         nil,
	"check-attr":       nil,
	"check-ignore":     nil,
	"check-ref-format": nil,
	"checkout-index":   nil,
	"commit-tree":      nil,
	"diff":             plainDiff,
	"diff-files":       plainDiff,
	"diff-index":       plainDiff,
	"diff-tree":        plainDiff,
	"fast-import":      nil,
	"for-each-ref":     nil,
	"hash-object":      nil,
	"index-pack":       nil,
	"log":              plainDiff,
	"ls-files":         nil,
	"ls-tree":          nil,
	"merge-base":       nil,
	"merge-tree":       nil,
	"pack-objects":     nil,
	"read-tree":        {"--no-recurse-submodules"},
	"reset":            {"--no-recurse-submodules"},
	"rev-list":         nil,
	"rev-parse":        nil,
	"show":             plainDiff,
	"show-ref":         nil,
	"stash list":       nil,
	"status":           {"--ignore-submodules=dirty"},
	"symbolic-ref":     nil,
	"update-index":     nil,
	"update-ref":       nil,
	"write-tree":       nil,
}

// plainDiff keeps a diff from starting programs and from examining submodules.
var plainDiff = []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short"}

// Output runs git with these arguments and returns its output.
func (r *Repo) Output(ctx context.Context, args ...string) ([]byte, error) {
	return r.Run(ctx, Call{Args: args})
}

// Run runs git in the top folder of the work folder, and returns its output. If git fails, the error is an
// *Error, and Run also returns the output so far. If the output is larger than c.Most, Run ends git and returns
// the first c.Most bytes with ErrTooLarge.
func (r *Repo) Run(ctx context.Context, c Call) ([]byte, error) {
	args, err := arguments(c.Args)
	if err != nil {
		return nil, err
	}
	for _, entry := range c.Env {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(callerEnv, name) {
			return nil, coleo.Errorf(coleo.EInternal, "git may not get the variable %s", name)
		}
	}
	var more []setting
	if r.main != "" {
		more = cloneOnly
	}
	if c.OwnIndex != "" {
		more = slices.Concat(more, ownIndex)
	}
	if c.OwnLists {
		more = slices.Concat(more, ownLists)
	}
	env := r.program.environment(more...)
	if c.OwnIndex != "" {
		env = append(env, "GIT_INDEX_FILE="+c.OwnIndex, "GIT_OPTIONAL_LOCKS=1")
	}
	env = append(env, "GIT_DIR="+r.Git, "GIT_COMMON_DIR="+r.standIn, "GIT_WORK_TREE="+r.Work)
	if c.NoReflog {
		own, err := r.withoutReflogs()
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(own)
		env = append(env, "GIT_DIR="+own, "GIT_COMMON_DIR="+own)
	}
	most := c.Most
	if most == 0 {
		most = defaultMost
	}
	return r.program.run(ctx, call{args: args, dir: r.Work, gitDirs: r.gitDirs(), stdin: c.Stdin,
		env: append(env, c.Env...), most: most, stdout: c.Stdout, warn: c.Warn})
}

// gitDirs returns the git folders of the repository.
func (r *Repo) gitDirs() []string { return []string{r.Git, r.Common} }

// arguments checks the arguments of a git command. It returns them together with the options that Coleo always
// gives to this command.
func arguments(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, coleo.Errorf(coleo.EInternal, "git needs a command")
	}
	name, words := args[0], 1
	if name == "stash" && len(args) > 1 {
		name, words = "stash "+args[1], 2
	}
	always, ok := commands[name]
	if !ok {
		return nil, coleo.Errorf(coleo.EInternal, "git %s is not on the list of commands that may run", name)
	}
	for _, a := range args[words:] {
		if a == "--" {
			break
		}
		if err := checkOption(name, a); err != nil {
			return nil, err
		}
	}
	return slices.Concat(args[:words], always, args[words:]), nil
}

// startsPrograms lists options that start a program, or that name a file to write to.
var startsPrograms = []string{"--ext-diff", "--textconv", "--output", "--exec", "--open-files-in-pager", "--filters",
	"--recurse-submodules", "--show-signature", "--gpg-sign", "--interactive", "--edit", "--ignore-submodules=none",
	"--submodule=diff", "--upload-pack", "--receive-pack", "--no-index"}

// checkOption refuses an option with which git could start a program or write to a file that the caller names.
func checkOption(command, option string) error {
	name, _, _ := strings.Cut(option, "=")
	if slices.Contains(startsPrograms, option) || slices.Contains(startsPrograms, name) {
		return coleo.Errorf(coleo.EInternal, "git %s may not get the option %s", command, option)
	}
	return nil
}

// call describes one start of the program.
type call struct {
	args []string
	dir  string
	// gitDirs are the git folders that git reads. Coleo searches them for pipes.
	gitDirs []string
	stdin   io.Reader
	env     []string
	most    int64
	// stdout receives the output. If it is nil, run returns the output.
	stdout io.Writer
	warn   func(text string) // see Call.Warn
}

// run starts git and waits until it ends. If ctx ends first, run ends git and git's children.
func (p Program) run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &boundedBuffer{most: c.most, full: cancel}
	stderr := &boundedBuffer{most: maxStderr}
	var why atomic.Pointer[string]
	cmd, err := startBounded(append([]string{p.path}, c.args...), func(argv []string) *exec.Cmd {
		return p.command(ctx, c, argv, out, stderr)
	})
	if err == nil {
		go p.awaitTrap(ctx, cmd.Process.Pid, c, func(trap string) {
			why.Store(&trap)
			cancel()
		})
		err = cmd.Wait()
	}
	switch {
	case err != nil && why.Load() != nil:
		return nil, coleo.Errorf(coleo.EConflict, "git %s was ended, because git %s: remove it", c.args[0], *why.Load())
	case out.cut:
		return out.kept.Bytes(), ErrTooLarge
	case ctx.Err() != nil:
		// Even the exit code 0 does not mean success here. If one of git's filters was killed first, git has continued
		// without the filter.
		return nil, fmt.Errorf("git %s: %w", c.args[0], ctx.Err())
	case err == nil:
		if text := stderr.kept.String(); c.warn != nil && text != "" {
			c.warn(text)
		}
		return out.kept.Bytes(), nil
	}
	if errors.Is(err, errTooMuchMemory) {
		return nil, tooMuchMemory(c.dir, err)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil, fmt.Errorf("git %s: %w", c.args[0], err)
	}
	failed := &Error{Command: c.args[0], ExitCode: exit.ExitCode(), Stderr: stderr.kept.String()}
	if outOfMemory.MatchString(failed.Stderr) {
		return out.kept.Bytes(), tooMuchMemory(c.dir, failed)
	}
	return out.kept.Bytes(), failed
}

// errTooMuchMemory means that git had more memory than its bound before Coleo could set the bound.
var errTooMuchMemory = errors.New("out of memory")

func tooMuchMemory(dir string, err error) error {
	return coleo.Errorf(coleo.EConflict, "git needs too much memory in %s: look there for a file or an "+
		"object of many gigabytes, or for a folder with millions of files: %w", dir, err)
}

// command returns the command for a call. `out` receives the output, and `stderr` the error output.
func (p Program) command(ctx context.Context, c call, argv []string, out, stderr io.Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, c.stdin
	processgroup.Own(cmd, killGrace)
	cmd.Stdout, cmd.Stderr = out, stderr
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	if p.held != nil {
		cmd.ExtraFiles = []*os.File{p.held}
	}
	return cmd
}

// outOfMemory matches what git and its helpers say if they get no more memory.
var outOfMemory = regexp.MustCompile(`(?i)out of memory|cannot allocate memory`)

// ErrTooLarge means that git's output exceeded the limit of the call.
var ErrTooLarge = errors.New("git's output is too large")

// Error means that git ended with an exit code other than 0.
type Error struct {
	Command  string // the first argument
	ExitCode int    // -1 if a signal ended git
	Stderr   string // beginning of the error output
}

// Error returns the command and the first line of the error output.
func (e *Error) Error() string {
	said := ""
	for line := range strings.Lines(e.Stderr) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "hint:") {
			continue
		}
		if said += line; !strings.HasSuffix(said, ":") { // after a colon, the next line says what git has found
			break
		}
		said += " "
	}
	if said != "" {
		return fmt.Sprintf("git %s: %s", e.Command, strings.TrimSpace(said))
	}
	return fmt.Sprintf("git %s ended with exit code %d", e.Command, e.ExitCode)
}

// ExitCode returns the exit code in err. It returns 0 if err is nil, and -1 if err contains no exit
// code.
func ExitCode(err error) int {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode
	}
	return -1
}

// boundedBuffer keeps the first bytes that are written to it. If more bytes arrive, it calls `full`.
type boundedBuffer struct {
	kept bytes.Buffer
	most int64
	full func()
	cut  bool
}

// Write never returns an error, because git would end if the pipe were closed.
func (b *boundedBuffer) Write(data []byte) (int, error) {
	room := b.most - int64(b.kept.Len())
	if int64(len(data)) <= room {
		return b.kept.Write(data)
	}
	b.kept.Write(data[:room])
	if !b.cut && b.full != nil {
		b.full()
	}
	b.cut = true
	return len(data), nil
}
