// Package processgroup gives a command a process group of its own, so that a kill also ends the
// command's children. A child that starts its own session leaves the group, so a kill does not end
// that child. The package also limits the wait for the command and the size of the command's
// output.
package processgroup

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Own prepares a command that has not started. The command gets a process group of its own, and the
// end of the command's context kills all processes of the group. A process outside of the group can
// keep the command's output open. So the command's Wait waits at most pipeWait for the end of the
// output.
func Own(cmd *exec.Cmd, pipeWait time.Duration) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	cmd.WaitDelay = pipeWait
}

// Running is a command that Start has started.
type Running struct {
	cmd      *exec.Cmd
	ctx      context.Context
	pipeWait time.Duration
	output   *os.File
	tail     Tail
}

// Start calls Own and starts the command. ctx must be the context with which the caller created the
// command. Running.Output later returns at most the last `most` bytes of the command's output.
func Start(ctx context.Context, cmd *exec.Cmd, pipeWait time.Duration, most int) (*Running, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	Own(cmd, pipeWait)
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return &Running{cmd: cmd, ctx: ctx, pipeWait: pipeWait, output: read, tail: Tail{Most: most}}, nil
}

// Wait waits until the command has ended and every process has closed the command's output. When
// ctx ends, all processes of the group are killed, and Wait waits at most pipeWait for the end of
// the output. After a kill, Wait returns ctx's error, even if the command itself had ended before.
//
// Wait collects the command's exit status only after the output has ended. Until then, the system
// cannot give the group's number to another group, so the kill cannot hit another group.
func (r *Running) Wait() error {
	unwatch := context.AfterFunc(r.ctx, func() { _ = r.output.SetReadDeadline(time.Now().Add(r.pipeWait)) })
	defer unwatch()
	_, err := io.Copy(&r.tail, r.output)
	_ = r.output.Close()
	if exit := r.cmd.Wait(); exit != nil {
		return exit
	}
	return err
}

// Output returns the last bytes of the command's output. Call it after Wait.
func (r *Running) Output() string { return string(r.tail.Kept) }

// Tail keeps the last bytes that are written to it.
type Tail struct {
	Kept []byte
	Most int // the largest number of bytes to keep
}

// Write never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.Kept = append(t.Kept, data...)
	if over := len(t.Kept) - t.Most; over > 0 {
		t.Kept = append(t.Kept[:0], t.Kept[over:]...)
	}
	return len(data), nil
}
