package model

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/netns"
	"coleo.dev/holder/process"
)

// This file runs an arm's agent CLI with the scripted model, in a network namespace.

const (
	// ScriptedVerb is the name of the verb that runs an arm's agent CLI with the
	// scripted model.
	ScriptedVerb = "scripted-model"
	// scriptedReady is the word that the model's process sends to its parent when the model
	// listens.
	scriptedReady = "ready"
	// scriptedTimeout is how long the parent waits for scriptedReady. The model only opens one
	// socket, but a loaded machine can take seconds to start a process.
	scriptedTimeout = 20 * time.Second
	// scriptedRecord is the number of requests that the model's record keeps. It is small, because
	// nobody reads the record.
	scriptedRecord = 10
	// maxScript is the largest size of a script, in bytes. A script must fit into an API request,
	// which has at most 1 MiB.
	maxScript = 512 << 10
)

// scriptedFlags contains the flags of the verb ScriptedVerb. The verb has three stages:
//   - The first stage enters a new network namespace. There it replaces itself with the
//     second stage.
//   - The second stage starts the third stage as another process. Then it replaces
//     itself with the agent CLI.
//   - The third stage is the model.
type scriptedFlags struct {
	addr, script string
	inside       bool // whether this process is the second stage, in its own network namespace
	serve        bool // whether this process is the third stage, the model
}

func newScriptedModelCommand() *cobra.Command {
	var f scriptedFlags
	c := &cobra.Command{
		Use:    ScriptedVerb + " --addr ADDR [--script FILE] -- COMMAND [ARG...]",
		Short:  "Run a command with a scripted model and without a network",
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.serve:
				return f.answer(c.Context())
			case f.inside:
				return f.startAndExec(args)
			}
			return f.enterNamespace(args)
		},
	}
	c.Flags().StringVar(&f.addr, "addr", "127.0.0.1:0", "loopback address that the model listens on")
	c.Flags().StringVar(&f.script, "script", "", "file with rules; without it words in the prompt decide")
	c.Flags().BoolVar(&f.inside, "inside", false, "this process is in the namespace already")
	c.Flags().BoolVar(&f.serve, "serve", false, "be the model")
	return c
}

// enterNamespace is the first stage: it replaces this process with the second stage, in a new
// network namespace.
func (f scriptedFlags) enterNamespace(args []string) error {
	if _, err := f.rules(); err != nil {
		return err
	}
	own, err := netns.Own()
	if err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the scripted model needs a network namespace: %w", err)
	}
	argv, err := f.commandLine("--inside")
	if err != nil {
		return err
	}
	argv = append(append(append(own, argv...), "--"), args...)
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// startAndExec is the second stage. It starts the model, and then replaces this process with the
// given command. The process keeps its id, so its parent can still wait for it. Without a command,
// startAndExec only checks that the model can start.
func (f scriptedFlags) startAndExec(args []string) error {
	if err := netns.LoopbackUp(); err != nil {
		return coleo.Errorf(coleo.EUnsupported, "the scripted model needs a network namespace: %w", err)
	}
	if !netns.Isolated() {
		return coleo.Errorf(coleo.EUnsupported,
			"the scripted model runs only where there is no network, but there is one here")
	}
	model, err := f.startModel()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.Join(model.Kill(), model.Release())
	}
	return fmt.Errorf("start %s: %w", args[0], syscall.Exec(args[0], args, os.Environ()))
}

// commandLine returns the command line of this verb with one more flag.
func (f scriptedFlags) commandLine(flag string) ([]string, error) {
	program, err := executable.Path()
	argv := []string{program, ScriptedVerb, flag, "--addr", f.addr}
	if f.script != "" {
		argv = append(argv, "--script", f.script)
	}
	return argv, err
}

// startModel starts the model as a new process, and waits until the model listens. The model has no terminal.
// Its environment contains only GOMAXPROCS and COLEO_ARM, by which a holder recognizes the processes of its
// arm. When the agent CLI has ended, the holder ends all other processes of the arm, including the model.
func (f scriptedFlags) startModel() (*os.Process, error) {
	argv, err := f.commandLine("--serve")
	if err != nil {
		return nil, err
	}
	readyOut, readyIn, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	defer readyOut.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{process.EnvArm + "=" + os.Getenv(process.EnvArm), "GOMAXPROCS=1"}
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{readyIn} // the standard streams are not set, so the model's are /dev/null
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	readyIn.Close()
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	_ = readyOut.SetReadDeadline(time.Now().Add(scriptedTimeout))
	line, err := bufio.NewReader(readyOut).ReadString('\n')
	if line = strings.TrimSpace(line); line == scriptedReady {
		return cmd.Process, nil
	}
	if line == "" {
		line = fmt.Sprintf("it did not report that it listens (%v)", err)
	}
	return nil, coleo.Errorf(coleo.EInternal, "start the scripted model: %s", line)
}

// answer is the third stage: it runs the model. When the model listens, answer writes scriptedReady
// to descriptor 3. If the model cannot listen, answer writes the reason to descriptor 3.
func (f scriptedFlags) answer(ctx context.Context) error {
	readyIn := os.NewFile(3, "starter")
	server, err := f.listen()
	if err != nil {
		_, _ = fmt.Fprintln(readyIn, strings.ReplaceAll(err.Error(), "\n", " "))
		return err
	}
	_, err = fmt.Fprintln(readyIn, scriptedReady)
	if err = errors.Join(err, readyIn.Close()); err != nil {
		return errors.Join(err, server.Close())
	}
	<-ctx.Done()
	return server.Close()
}

func (f scriptedFlags) listen() (*modelserver.Server, error) {
	script, err := f.rules()
	if err != nil {
		return nil, err
	}
	return modelserver.Start(modelserver.Config{Addr: f.addr, Script: script, Keep: scriptedRecord})
}

func (f scriptedFlags) rules() (modelserver.Script, error) {
	if f.script == "" {
		return modelserver.Script{}, nil
	}
	script, err := modelserver.LoadScript(f.script)
	if err != nil {
		return script, coleo.Errorf(coleo.EInvalid, "%w", err)
	}
	return script, nil
}

// ReadScript returns the text of a script. If the script is not valid, it returns an
// error.
func ReadScript(path string) (string, error) {
	if _, err := (scriptedFlags{script: path}).rules(); err != nil {
		return "", err
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "read the script: %w", err)
	}
	if len(raw) > maxScript {
		return "", coleo.Errorf(coleo.EInvalid, "the script %s has %d bytes, and %d are allowed", path, len(raw),
			maxScript)
	}
	return string(raw), nil
}

// CheckScripted checks whether this machine can start an arm with the scripted model. Such an arm needs a
// network namespace, because otherwise its agent CLI could reach the network and cause costs that nobody
// expects. The error is EUnsupported if there is no network namespace, and ETimeout if the check takes longer
// than scriptedTimeout. It is EInternal if ctx ends or a signal ends the check.
func CheckScripted(ctx context.Context) error {
	program, err := executable.Path()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, scriptedTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, program, ScriptedVerb)
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &stderr
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		return coleo.Errorf(coleo.ETimeout, "the check for a network namespace, which the scripted model needs, did not "+
			"end within %s: no arm was started", scriptedTimeout)
	case ctx.Err() != nil || endedBySignal(err):
		return coleo.Errorf(coleo.EInternal, "cancelled by Ctrl-C or a signal before the start: no arm was started")
	default:
		why := strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\n", "; "), "coleo: ")
		return coleo.Errorf(coleo.EUnsupported,
			"nothing was started: an arm with the scripted model runs in a network namespace of its own, "+
				"which this system does not provide (%s); 'coleo modelserver' and --endpoint work without one", why)
	}
}

// endedBySignal reports whether err means that a signal has ended a process. That can happen on
// Ctrl-C, which reaches the process at the same time as its parent.
func endedBySignal(err error) bool {
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return false
	}
	status, ok := failed.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
