package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/show"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/host"
	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// This file contains the verb agent start, which runs the host agent.

const (
	// busWait is how long a host agent waits for a connection to the bus.
	busWait = 15 * time.Second
	// busLook is the pause between two attempts to connect to the bus.
	busLook = 100 * time.Millisecond
)

// agentFlags are the flags of the verb "agent start".
type agentFlags struct {
	url     string // the URL of a bus on another machine; runAgent refuses such a URL
	id      string
	maxArms int
	now     func() time.Time
}

func newAgentCommand(now func() time.Time) *cobra.Command {
	c := verb.Group("agent", "Run the host agent of this machine, or list host agents")
	c.AddCommand(newAgentStartCommand(now), newAgentStatusCommand())
	return c
}

func newAgentStartCommand(now func() time.Time) *cobra.Command {
	f := agentFlags{now: now}
	c := &cobra.Command{
		Use:   "start",
		Short: "Run the host agent in the foreground",
		Long: `Run the host agent in the foreground.

The host agent reads the screens of this machine's arms and types into them. It
reattaches to the arms that already run. SIGINT and SIGTERM end the host agent.
The arms continue to run. 'coleo up' starts a host agent in the background.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.maxArms < 0 {
				return coleo.Errorf(coleo.EInvalid, "--max-arms %d is less than 0: no host agent was started", f.maxArms)
			}
			s, err := setup.New()
			if err != nil {
				return err
			}
			return runAgent(c.Context(), s, f)
		},
	}
	c.Flags().StringVarP(&f.url, "nats-url", "n", "", "refused: `URL` of a bus on another machine")
	c.Flags().StringVar(&f.id, "id", "", "`ID` of this host agent (default: its former id)")
	c.Flags().IntVarP(&f.maxArms, "max-arms", "m", 0,
		"largest `NUMBER` of arms at a time (default: max_arms in config.toml)")
	return c
}

// runAgent runs the host agent on serve's bus until ctx ends. If the bus refuses the key, the
// connection ends permanently. In that case runAgent reads the key again and makes a new
// connection.
func runAgent(ctx context.Context, s setup.Setup, f agentFlags) error {
	if f.url != "" {
		return coleo.Errorf(coleo.EUnsupported,
			"a bus on another machine (%s) is not supported yet: leave out --nats-url, "+
				"and the host agent uses serve on this machine", f.url)
	}
	if err := s.Prepare(); err != nil {
		return err
	}
	db, err := store.OpenHost(s.HostDB())
	if err != nil {
		return openError(err)
	}
	defer db.Close()
	// No other host agent has the database open, so this overwrites no record of a running one.
	if err := s.RecordProcess("agent", os.Getpid()); err != nil {
		return err
	}
	defer s.RemoveRecord("agent")
	if err := nameHost(ctx, db, s.State, f.id); err != nil {
		return err
	}
	for ctx.Err() == nil {
		conn, err := joinBus(ctx, s)
		if err == nil {
			err = runOnBus(ctx, s, f, db, conn)
			conn.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nameHost gives the host agent its id. If `id` is "", it uses the first of the following ids that exists:
//   - the id that the host agent already has
//   - the last id in the arms' folders
//   - a new one
//
// nameHost returns EInvalid if `id` is coleo.LocalHost, which is the id of serve itself.
func nameHost(ctx context.Context, db *store.HostDB, dir, id string) error {
	if id == coleo.LocalHost {
		return coleo.Errorf(coleo.EInvalid, "--id %s: this id means serve itself; choose another one", id)
	}
	if id == "" && !db.Named() {
		id = armfolder.LastID(dir) // the arms' folders can still exist although the database is lost
	}
	if id == "" && !db.Named() {
		hostname, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the host's name: %w", err)
		}
		id = "agent-" + hostname + "-" + strings.ToLower(rand.Text()[:4])
	}
	if id == "" || id == db.Host() {
		return nil
	}
	return db.SetHost(ctx, id)
}

// joinBus connects to serve's bus. If serve has not started the bus yet, joinBus tries again, for
// at most busWait.
func joinBus(ctx context.Context, s setup.Setup) (*bus.Conn, error) {
	deadline := time.Now().Add(busWait)
	for {
		key, err := bus.KeyFile(s.BusKey())
		if err != nil {
			return nil, err
		}
		conn, err := bus.Dial(s.BusSocket(), key, "host agent")
		if err == nil {
			return conn, nil
		}
		if time.Now().After(deadline) {
			return nil, coleo.Errorf(coleo.EUnavailable,
				"the bus did not answer within %s (%v): 'coleo up' starts serve and a host agent", busWait, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(busLook):
		}
	}
}

// runOnBus runs the host agent. It returns when ctx ends, or when the connection to the
// bus has ended permanently.
func runOnBus(ctx context.Context, s setup.Setup, f agentFlags, db *store.HostDB, conn *bus.Conn) error {
	reg, err := installed.Registry(s)
	if err != nil {
		return err
	}
	c, err := hostConfig(s, f.now)
	if err != nil {
		return err
	}
	c.MaxArms = cmp.Or(f.maxArms, c.MaxArms)
	c.ID, c.DB, c.Bus, c.Log, c.Registry = db.Host(), db, conn, newLog(), reg
	h := host.New(c)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-conn.Over():
		}
	}()
	if err = h.Run(ctx); err != nil && !conn.Connected() {
		h.Log.Warn("the bus ended while the host agent started", "error", err)
		return nil
	}
	return err
}

func newAgentStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the host agents, with their arms and harnesses",
		Args:  verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			client, err := s.Client()
			if err != nil {
				return err
			}
			list, err := client.Hosts(c.Context())
			if err != nil {
				return err
			}
			if verb.WantsJSON(c) {
				return verb.PrintJSON(c, list)
			}
			return printHosts(c, list)
		},
	}
}

func printHosts(c *cobra.Command, list []coleo.HostInfo) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(c.OutOrStdout(), "No host agents. 'coleo up' starts one here.")
		return err
	}
	w := show.NewTable(c)
	fmt.Fprintln(w, "ID\tHOST\tLIVE\tARMS\tVERSION\tHARNESSES")
	for _, h := range list {
		live := "no"
		if h.Live {
			live = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%s\t%s\n", h.ID, h.Hostname, live, h.Arms, h.MaxArms, h.Version,
			strings.Join(h.Capabilities, ", "))
	}
	return w.Flush()
}

func newLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}
