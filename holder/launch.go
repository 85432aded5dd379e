package holder

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"coleo.dev"
)

// startTimeout bounds how long a new holder may take until it reports: it only
// has to open two files and fork, but a loaded machine may take seconds.
const startTimeout = 20 * time.Second

// The size of a terminal whose launch has none, in cells, as package pty has it.
const defaultCols, defaultRows = 120, 40

// EnvArm marks every process of an arm's tree. A sweep finds them by it when
// the holder has died first.
const EnvArm = "COLEO_ARM"

// envAlone says, beside EnvArm, that a person runs the holder: what is below it
// is no arm.
const envAlone = "COLEO_ALONE"

// Launch is what a holder shall run. It is handed over on standard input, so
// that the environment, which may hold keys, is never on disk or in argv.
type Launch struct {
	Arm        string   `json:"arm"`
	Generation int      `json:"generation"`
	Nonce      string   `json:"nonce"`
	Dir        string   `json:"dir"` // made if missing, 0700
	Argv       []string `json:"argv"`
	Env        []string `json:"env"`
	Workdir    string   `json:"workdir"`
	Cols       int      `json:"cols"`
	Rows       int      `json:"rows"`

	// Keep bounds the journal, in bytes; 0 means DefaultKeep. Only what the host
	// agent has said to be covered is deleted.
	Keep int64 `json:"keep,omitempty"`
	// Alone says that no host agent reads this holder's output: it is drained
	// however much is unread.
	Alone bool `json:"alone,omitempty"`

	// AllowSudo lets the program gain rights, by sudo for example. On some
	// kernels it can then type into its own terminal: see docs/security.md.
	AllowSudo bool `json:"allow_sudo,omitempty"`

	// NeedsPermit makes the holder refuse keys unless Client.Permit has allowed
	// them. Answers to the program's own queries need no permit.
	NeedsPermit bool `json:"needs_permit,omitempty"`

	// Self is the command that calls Serve on its standard input, with which
	// the holder starts its guard. Start sets it; without it there is no guard.
	Self []string `json:"self,omitempty"`
}

// launchDocument is what comes on the standard input of Serve: a launch, or
// an order for a guard.
type launchDocument struct {
	Launch
	Guard *guardOrder `json:"guard,omitempty"`
}

// Mark returns the value of EnvArm for this launch: arm, generation and StartID.
func (l Launch) Mark() string {
	return l.Arm + "/" + strconv.Itoa(l.Generation) + "/" + StartID(l.Nonce)
}

// StartID names the start that a nonce belongs to, and does not give the nonce
// away: the arm's program can read it, and must not learn what proves its holder.
func StartID(nonce string) string {
	sum := sha256.Sum256([]byte("coleo start " + nonce))
	return hex.EncodeToString(sum[:8])
}

// OfStart picks the start that a nonce belongs to, for SweepStarts; without a
// nonce, every start. Holders of earlier versions named the nonce itself.
func OfStart(nonce string) func(generation int, start string) bool {
	if nonce == "" {
		return anyStart
	}
	id := StartID(nonce)
	return func(_ int, start string) bool { return start == id || start == nonce }
}

// Start runs command, which must be `coleo hold --stdin` or a program that
// calls Serve like it, as a process of its own that outlives the caller, and
// returns when the program in the arm runs. Errors: what the holder says, for
// example that the program is not there; ETimeout.
func Start(ctx context.Context, command []string, l Launch) (Status, error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return Status{}, fmt.Errorf("make the holder's folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(l.Dir, "hold.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Status{}, fmt.Errorf("open the holder's log: %w", err)
	}
	defer log.Close()
	// The arm's name in argv is for people who read a list of processes, and for ArmAbove.
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
		_ = cmd.Wait() // reaps it, whenever it ends
	}()
	return awaitReady(ctx, ready, cmd.Process)
}

func readReady(r *bufio.Reader) response {
	line, err := r.ReadBytes('\n')
	var out response
	if err != nil || json.Unmarshal(line, &out) != nil {
		return response{Error: coleo.Errorf(coleo.EInternal, "the holder ended before it was ready; see hold.log in its folder")}
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

// SocketPath returns where the holder of that folder listens.
func SocketPath(dir string) string { return filepath.Join(dir, "hold.sock") }

// JournalDir returns where the holder of that folder keeps its journal.
func JournalDir(dir string) string { return filepath.Join(dir, "journal") }

// exitPath is where a holder leaves word of the program's end.
func exitPath(dir string) string { return filepath.Join(dir, "exit.json") }

// ReadExit returns how the program of that folder ended, as its holder left it
// on disk; nil when it has not, or when the holder died before it.
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

// writeExit leaves word of the program's end, whole or not at all.
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
