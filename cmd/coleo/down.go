package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/holder"
)

const (
	// downTimeout bounds how long serve and the host agent may take to end.
	downTimeout = 15 * time.Second
	// killsAtOnce is how many arms are ended at the same time. Ending an arm is mostly
	// waiting for the agent CLI and the disk. More arms at a time would only queue.
	killsAtOnce = 16
)

func newDownCommand() *cobra.Command {
	var arms bool
	c := &cobra.Command{
		Use:   "down",
		Short: "End serve and the host agent; the arms live on, unless --arms is given",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			if arms {
				if err := killAll(c, s); err != nil {
					return err
				}
			}
			ended := []string{}
			for _, name := range []string{"agent", "serve", "modelserver"} {
				did, err := s.end(c.Context(), name)
				if err != nil {
					return err
				}
				if did {
					ended = append(ended, name)
				}
			}
			if wantsJSON(c) {
				return printJSON(c, map[string]any{"ended": ended})
			}
			word := "nothing was running"
			if len(ended) > 0 {
				word = "ended " + strings.Join(ended, " and ")
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "coleo:", word)
			return err
		},
	}
	c.Flags().BoolVar(&arms, "arms", false, "kill every arm first")
	return c
}

// killAll ends every arm. If one cannot be ended, it still ends the others.
func killAll(c *cobra.Command, s setup) error {
	if _, err := s.up(c.Context()); err != nil { // only its host agent can end an arm
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	list, err := client.Arms(c.Context(), true)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards failed and the output
	var failed error
	var ending sync.WaitGroup
	room := make(chan struct{}, killsAtOnce)
	for _, arm := range list {
		if arm.Status == coleo.StatusStopped {
			continue
		}
		room <- struct{}{}
		ending.Go(func() {
			defer func() { <-room }()
			_, err := client.Kill(c.Context(), arm.ID)
			mu.Lock()
			defer mu.Unlock()
			if failed = errors.Join(failed, err); err == nil {
				fmt.Fprintln(c.ErrOrStderr(), "killed", arm.Name)
			}
		})
	}
	ending.Wait()
	return failed
}

// end tells a background process to end, and waits until it has. If another process has
// the pid now, end leaves that process alone.
func (s setup) end(ctx context.Context, name string) (bool, error) {
	id, runs := s.runs(name)
	if !runs {
		return false, s.forget(name)
	}
	if err := syscall.Kill(id.PID, syscall.SIGTERM); err != nil {
		return false, fmt.Errorf("end %s: %w", name, err)
	}
	holder.Wake(id) // a stopped process ends only when it continues
	deadline := time.Now().Add(downTimeout)
	for holder.SameProcess(id) {
		if time.Now().After(deadline) {
			return false, coleo.Errorf(coleo.ETimeout, "%s (process %d) did not end within %s", name, id.PID, downTimeout)
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(upLook):
		}
	}
	return true, s.forget(name)
}

func (s setup) forget(name string) error {
	if err := os.Remove(s.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the word of %s: %w", name, err)
	}
	return nil
}
