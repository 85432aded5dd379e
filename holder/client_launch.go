package holder

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/holder/process"
)

// startTimeout is how long Start waits for a new holder to become ready. Until then the holder only
// opens some files and forks, but on a loaded machine this can take seconds.
const startTimeout = 20 * time.Second

// Launch describes the program that a holder runs. The program's environment can contain secrets.
// So the holder reads the Launch from standard input, and no file and no argv contains it.
type Launch struct {
	Arm        string   `json:"arm"`
	Generation int      `json:"generation"`
	Nonce      string   `json:"nonce"`
	Dir        string   `json:"dir"` // created with mode 0700 if missing
	Argv       []string `json:"argv"`
	Env        []string `json:"env"`
	Workdir    string   `json:"workdir"`
	Cols       int      `json:"cols"`
	Rows       int      `json:"rows"`

	// Keep is the limit for the journal in bytes. A Keep of 0 means DefaultKeep. Above the limit, the
	// holder deletes old output, but only output that the host agent has reported with Client.Covered.
	Keep int64 `json:"keep,omitempty"`
	// Alone is true if no host agent reads this holder's output. The holder then reads the terminal
	// without waiting for a reader.
	Alone bool `json:"alone,omitempty"`

	// AllowSudo allows the program to gain rights, for example with sudo. On some kernels, it also
	// allows the program to type into its own terminal: see docs/security.md.
	AllowSudo bool `json:"allow_sudo,omitempty"`

	// NeedsPermit makes the holder refuse keys without a permit from Client.Permit. The terminal's
	// replies to the program's queries need no permit.
	NeedsPermit bool `json:"needs_permit,omitempty"`

	// After is a command that removes what the program has left outside of its process tree. If it is
	// empty, there is no such command. The holder or its guard runs the command after the end of the
	// tree. Its last argument is the value of COLEO_ARM for this start of the arm. The command itself
	// is not a process of the arm, so its environment has no variable of the arm.
	After []string `json:"after,omitempty"`

	// Self is the command that runs the holder's guard. The command must pass its standard input to
	// Serve. Start sets this field. If the field is empty, the holder has no guard.
	Self []string `json:"self,omitempty"`
}

// launchDocument is the JSON document that Serve reads from its input. It contains a Launch for a
// holder, or an order for a guard.
type launchDocument struct {
	Launch
	Guard *guardOrder `json:"guard,omitempty"`
}

// mark returns the value of the variable EnvArm in the program's environment.
func (l Launch) mark() string { return process.Mark(l.Arm, l.Generation, l.Nonce) }

// MarkEnv returns the environment variable by which Coleo recognizes the processes of this launch,
// in the form NAME=VALUE. The holder sets it for the program. Whoever starts another process of the
// arm must set it for that process.
func (l Launch) MarkEnv() string { return process.EnvArm + "=" + l.mark() }

// Start runs a holder as a separate process that outlives the caller. It returns when the arm's
// program runs. The command must be `coleo hold --stdin`, or a program that calls Serve in the same
// way.
//
// If the holder reports an error, for example because the program does not exist, Start returns
// this error. If the holder is not ready in time, or if ctx is canceled, Start kills the holder and
// returns ETimeout.
func Start(ctx context.Context, command []string, l Launch) (Status, error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return Status{}, fmt.Errorf("make the holder's folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(l.Dir, "hold.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Status{}, fmt.Errorf("open the holder's log: %w", err)
	}
	defer log.Close()
	// The arm's id is in argv so that a person sees it in a list of processes. The function holderArm
	// reads it there, too.
	cmd := exec.Command(command[0], append(slices.Clone(command[1:]), l.Arm)...)
	cmd.Dir, cmd.Stderr = "/", log
	cmd.Env = ownEnv()
	l.Self = command
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return Status{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Status{}, err
	}
	if err := cmd.Start(); err != nil {
		return Status{}, fmt.Errorf("start the holder: %w", err)
	}
	ready := make(chan response, 1)
	go func() {
		_ = json.NewEncoder(stdin).Encode(l)
		stdin.Close()
		ready <- readReady(bufio.NewReader(stdout))
		process.AwaitEnd(cmd.Process.Pid)
		_ = cmd.Wait() // waits for the holder, so that its process does not become a zombie
	}()
	return awaitReady(ctx, ready, cmd.Process)
}

func readReady(r *bufio.Reader) response {
	line, err := r.ReadBytes('\n')
	var out response
	if err != nil || json.Unmarshal(line, &out) != nil {
		return response{Error: coleo.Errorf(coleo.EInternal,
			"the holder ended before it was ready; see hold.log in its folder")}
	}
	return out
}

func awaitReady(ctx context.Context, ready <-chan response, p *os.Process) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case r := <-ready:
		if r.Error != nil {
			return Status{}, r.Error
		}
		return *r.Status, nil
	case <-ctx.Done():
		_ = p.Kill()
		return Status{}, coleo.Errorf(coleo.ETimeout, "the holder was not ready in time: %v", context.Cause(ctx))
	}
}

// SocketPath returns the path of the socket in the holder's folder.
func SocketPath(dir string) string { return filepath.Join(dir, "hold.sock") }

// JournalDir returns the path of the journal's folder in the holder's folder.
func JournalDir(dir string) string { return filepath.Join(dir, "journal") }

// exitPath returns the path of the file in the holder's folder that records the program's end.
func exitPath(dir string) string { return filepath.Join(dir, "exit.json") }

// ReadExit returns how the program of the holder in dir ended. It returns nil if no end is
// recorded: the program still runs, or the holder and the guard died before they could record the
// end.
func ReadExit(dir string) (*Exit, error) {
	raw, err := os.ReadFile(exitPath(dir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read exit: %w", err)
	}
	var e Exit
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read exit %s: %w", exitPath(dir), err)
	}
	return &e, nil
}

// writeExit records the end of the program. It replaces the file in one step, so that a reader
// never finds an incomplete file.
func writeExit(dir string, e Exit) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := exitPath(dir) + ".new"
	if err = os.WriteFile(tmp, raw, 0o600); err == nil {
		err = os.Rename(tmp, exitPath(dir))
	}
	if err != nil {
		return fmt.Errorf("write down the program's end: %w", err)
	}
	return nil
}

// Terminate sends SIGTERM to the holder with the identity id, and waits until this holder has
// ended. The holder first ends its arm, as it does when the machine shuts down. Terminate is for
// callers that do not know the holder's nonce. The error is ETimeout if the holder does not end.
func Terminate(id coleo.Identity) error {
	process.Signal(id, syscall.SIGTERM, syscall.SIGCONT)
	deadline := time.Now().Add(termGrace + process.KillTimeout + linger)
	for ; process.Look(id) != process.Dead; time.Sleep(process.PollEvery) {
		if time.Now().After(deadline) {
			return coleo.Errorf(coleo.ETimeout, "the holder, process %d, was asked to end and has not ended", id.PID)
		}
	}
	return nil
}

// DefaultKeep is the limit for an arm's journal, in bytes, if the launch sets no limit.
// A busy agent CLI writes this much output in a few days.
const DefaultKeep = 256 << 20
