package holder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"coleo.dev"
)

// Hold runs a program under a holder in the folder dir, for a person. argv is the program with its
// arguments. The program runs with the given environment, in the work folder of this process. The
// command that runs the holder's guard is holdCommand. Hold returns when the program has ended. The
// result is the program's exit status, as a shell reports it.
//
// The error is EInvalid if dir or argv is empty, and ENotInstalled if the program is not found.
func Hold(dir string, argv, environ, holdCommand []string) (int, error) {
	if dir == "" || len(argv) == 0 {
		return 0, coleo.Errorf(coleo.EInvalid, "hold needs --dir DIR and a program after --")
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, coleo.Errorf(coleo.ENotInstalled, "%v", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return 0, fmt.Errorf("find the holder's folder: %w", err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return 0, fmt.Errorf("find the work folder: %w", err)
	}
	nonce, err := randomWord()
	if err != nil {
		return 0, err
	}
	launch, err := json.Marshal(Launch{
		Arm: filepath.Base(dir), Generation: 1, Nonce: nonce, Dir: dir, Self: holdCommand,
		Argv: append([]string{program}, argv[1:]...), Env: environ, Workdir: cwd, Alone: true,
	})
	if err != nil {
		return 0, fmt.Errorf("write the launch: %w", err)
	}
	in, out := io.Pipe()
	go func() { _, _ = out.Write(launch); out.Close() }()
	if err := Serve(in, io.Discard); err != nil {
		return 0, err
	}
	exit, err := ReadExit(dir)
	if err != nil || exit == nil {
		return 0, errors.Join(err, coleo.Errorf(coleo.EInternal, "it is unknown how %s ended", program))
	}
	return exit.status(), nil
}

// status returns the exit status as a shell reports it: the exit code, or 128 plus the number of
// the signal that ended the program.
func (e Exit) status() int {
	if e.Signal != 0 {
		return 128 + e.Signal
	}
	return max(e.Code, 0)
}

// randomWord returns 128 random bits in hex. It reads /dev/urandom itself, because
// package crypto/rand would make a small program too large.
func randomWord() (string, error) {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return "", fmt.Errorf("make a nonce: %w", err)
	}
	defer f.Close()
	var b [16]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return "", fmt.Errorf("make a nonce: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}
