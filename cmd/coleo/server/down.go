package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// This file contains the verb down.

const (
	// killsAtOnce is how many arms are ended at the same time. More would not be faster, because most of
	// the time is spent waiting for the agent CLIs and the disk.
	killsAtOnce = 16
	// cutOffTime is how long to wait for serve to notice that an order to start an arm never reached the arm's
	// host agent. Serve learns it from the reports of the host agent, which come every 1.5 s (bus.PulseEvery).
	cutOffTime = 15 * time.Second
	// silentTime is how long to repeat orders to host agents that do not answer. On a loaded machine, a host agent that
	// runs can be silent for longer than bus.SilentAfter, and serve then refuses orders for its arms.
	silentTime = 15 * time.Second
	// killAgain is the pause before such an order is repeated.
	killAgain = 250 * time.Millisecond
)

func newDownCommand() *cobra.Command {
	var arms bool
	c := &cobra.Command{
		Use:   "down",
		Short: "Stop serve and the host agent; the arms continue to run",
		Long: `Stop serve and the host agent. The arms continue to run, unless you give
--arms.

The next 'coleo up' reattaches to the arms. With --arms, Coleo kills every arm
first, and starts serve and the host agent for that if they do not run. If no
arm runs either, it starts nothing. It deletes nothing.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if arms && mayRun(c.Context(), s) {
				if err := killAll(c, s); err != nil {
					return err
				}
			}
			unread := armfolder.LocalArms(s.State)
			ended := []string{}
			for _, name := range []string{"agent", "serve", "modelserver"} {
				wasRunning, err := s.End(c.Context(), name)
				if err != nil {
					return err
				}
				if wasRunning {
					ended = append(ended, name)
				}
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, map[string]any{"ended": ended, "unread": unread})
			}
			word := "nothing was running"
			if len(ended) > 0 {
				word = "ended " + strings.Join(ended, " and ")
			}
			_, err = fmt.Fprint(c.OutOrStdout(), "coleo: ", word, "\n", unreadNote(unread))
			return err
		},
	}
	c.Flags().BoolVar(&arms, "arms", false, "kill every arm first")
	return c
}

// mayRun reports whether serve, a host agent or an arm may run. If it cannot find out, it reports true.
func mayRun(ctx context.Context, s setup.Setup) bool {
	for _, name := range []string{"serve", "agent"} {
		if _, runs := s.Process(name); runs {
			return true
		}
	}
	folders, err := os.ReadDir(filepath.Join(s.State, "arms"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, folder := range folders {
		if len(armfolder.Of(s.State, folder.Name()).Occupied()) > 0 {
			return true
		}
	}
	return armsRecorded(ctx, s.ServeDB())
}

// armsRecorded reports whether serve's database contains an arm that has not ended. This arm may be on
// another machine.
func armsRecorded(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	db, err := store.OpenServe(path)
	if err != nil {
		return true
	}
	list, err := db.Arms(ctx, true)
	running := slices.ContainsFunc(list, func(a coleo.Arm) bool { return a.Status != coleo.StatusStopped })
	return errors.Join(err, db.Close()) != nil || running
}

// unreadNote returns a note about arms without a host agent: they continue to run, but Coleo reads their
// screens only while serve runs.
func unreadNote(arms []armfolder.LocalArm) string {
	if len(arms) == 0 {
		return ""
	}
	names := make([]string, len(arms))
	for i, arm := range arms {
		names[i] = arm.Name
	}
	return fmt.Sprintf("coleo: without a host agent and still running: %s; nobody reads them until 'coleo up'\n",
		strings.Join(names, ", "))
}

// killAll ends all running arms. It starts serve and the host agent for that if they do not run.
func killAll(c *cobra.Command, s setup.Setup) error {
	if _, err := s.Start(c.Context()); err != nil { // the host agents must run, because only they can end their arms
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	return endArms(c.Context(), client, c.ErrOrStderr())
}

// endArms ends all running arms. A schedule, a webhook or a person can start another arm meanwhile, so endArms looks
// again until it finds no other running arm. If some cannot be ended, it still ends all others, and then returns the
// errors.
func endArms(ctx context.Context, client *apiclient.Client, out io.Writer) (failed error) {
	patient, cancel := context.WithTimeout(ctx, silentTime)
	defer cancel()
	for tried := map[string]bool{}; ; {
		list, err := client.Arms(ctx, true)
		if err != nil {
			return errors.Join(failed, err)
		}
		list = slices.DeleteFunc(list, func(a coleo.Arm) bool { return a.Status == coleo.StatusStopped || tried[a.ID] })
		if len(list) == 0 {
			return failed
		}
		for _, arm := range list {
			tried[arm.ID] = true
		}
		failed = errors.Join(failed, endList(ctx, patient, client, list, out))
	}
}

// endList ends the given arms, and returns the errors. Until `patient` ends, it repeats orders to host agents that do
// not answer.
func endList(ctx, patient context.Context, client *apiclient.Client, list []coleo.Arm, out io.Writer) error {
	var mu sync.Mutex // guards failed and the output
	var failed error
	var ending sync.WaitGroup
	room := make(chan struct{}, killsAtOnce)
	for _, arm := range list {
		room <- struct{}{}
		ending.Go(func() {
			defer func() { <-room }()
			err := killOne(ctx, client, arm)
			for coleo.ErrorCode(err) == coleo.EUnavailable && waits(patient, killAgain) {
				err = killOne(ctx, client, arm)
			}
			mu.Lock()
			defer mu.Unlock()
			if failed = errors.Join(failed, err); err == nil {
				fmt.Fprintln(out, "killed", arm.Name)
			}
		})
	}
	ending.Wait()
	return failed
}

// killOne ends an arm. If serve was killed while it ordered the arm's start, the host agent may not know
// the arm. In that case, killOne waits until the host agent reports that the arm does not run.
func killOne(ctx context.Context, client *apiclient.Client, arm coleo.Arm) error {
	_, err := client.Kill(ctx, arm.ID)
	if coleo.ErrorCode(err) != coleo.ENotFound {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, cutOffTime)
	defer cancel()
	if _, waiting := client.WaitArm(limited, arm.ID, coleo.Dead); waiting != nil {
		return err
	}
	return nil
}

// waits waits for a time, and returns true. If ctx ends first, it returns false.
func waits(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
