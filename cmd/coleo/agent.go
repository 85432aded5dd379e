package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host"
	"coleo.dev/store"
)

const (
	// busWait bounds how long a host agent waits for its bus at the start.
	busWait = 15 * time.Second
	// busLook is how often a host agent that has lost its bus looks whether
	// serve has moved it.
	busLook = 500 * time.Millisecond
)

// agentFlags are the flags of agent start.
type agentFlags struct {
	url, token, id string
	maxArms        int
}

func newAgentCommand() *cobra.Command {
	c := group("agent", "Run or look at the host agent, which keeps the arms of one machine")
	c.AddCommand(newAgentStartCommand(), newAgentStatusCommand())
	return c
}

func newAgentStartCommand() *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "start",
		Short: "Run the host agent in the foreground",
		Long: `Run the host agent in the foreground.

It takes up the arms that are there. SIGINT and SIGTERM end it; the arms live on.`,
		Args: exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			return runAgent(c.Context(), s, f)
		},
	}
	c.Flags().StringVarP(&f.url, "nats-url", "n", "", "the bus (default: the one of serve on this machine)")
	c.Flags().StringVar(&f.token, "nats-token-file", "", "file with the bus's token")
	c.Flags().StringVar(&f.id, "id", "", "id of this host agent (default: made from the host's name)")
	c.Flags().IntVarP(&f.maxArms, "max-arms", "m", 0, "how many arms may live here (default 10)")
	return c
}

// runAgent runs the host agent, and again when serve has moved its bus.
func runAgent(ctx context.Context, s setup, f agentFlags) error {
	if err := s.Ensure(); err != nil {
		return err
	}
	db, err := store.OpenHost(s.HostDB())
	if err != nil {
		return err
	}
	defer db.Close()
	if err := s.leaveWord("agent", os.Getpid()); err != nil { // the database is this process's alone
		return err
	}
	defer s.takeBack("agent")
	if err := nameHost(ctx, db, s.State, f.id); err != nil {
		return err
	}
	for ctx.Err() == nil {
		at, err := findBus(ctx, s, f)
		if err != nil {
			return err
		}
		if err := runOnBus(ctx, s, f, db, at); err != nil {
			return err
		}
	}
	return nil
}

// nameHost gives the host agent its id, once and for all.
func nameHost(ctx context.Context, db *store.HostDB, dir, id string) error {
	const prefix = "agent-"
	if id == "" && !strings.HasPrefix(db.Host(), prefix) {
		id = host.LastID(dir) // the database was lost, and the arms' folders were not
	}
	if id == "" && !strings.HasPrefix(db.Host(), prefix) {
		hostname, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find the host's name: %w", err)
		}
		id = prefix + hostname + "-" + strings.ToLower(rand.Text()[:4])
	}
	if id == "" || id == db.Host() {
		return nil
	}
	return db.SetHost(ctx, id)
}

// findBus waits until serve has left word of its bus.
func findBus(ctx context.Context, s setup, f agentFlags) (busFile, error) {
	if f.url != "" {
		at := busFile{URL: f.url}
		if f.token != "" {
			raw, err := os.ReadFile(f.token)
			if err != nil {
				return at, fmt.Errorf("read the bus's token: %w", err)
			}
			at.Token = strings.TrimSpace(string(raw))
		}
		return at, nil
	}
	deadline := time.Now().Add(busWait)
	for {
		at, err := readBusFile(s.Bus())
		if err == nil {
			var conn *bus.Conn
			if conn, err = bus.Dial(at.URL, at.Token, "host agent"); err == nil {
				conn.Close()
				return at, nil
			}
		}
		if time.Now().After(deadline) {
			return at, coleo.Errorf(coleo.EUnavailable, "no bus to be found (%v): is 'coleo serve' running?", err)
		}
		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// runOnBus runs the host agent until ctx ends or the bus has moved. That serve
// has ended just now is no error: its next bus is looked for.
func runOnBus(ctx context.Context, s setup, f agentFlags, db *store.HostDB, at busFile) error {
	conn, err := bus.Dial(at.URL, at.Token, "host agent")
	if err != nil && f.url == "" {
		return nil
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	reg, err := s.registry()
	if err != nil {
		return err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the host's name: %w", err)
	}
	maxArms := s.Arms.MaxArms
	if f.maxArms > 0 {
		maxArms = f.maxArms
	}
	h := host.New(host.Config{
		ID: db.Host(), Hostname: hostname, Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: version,
		Dir: s.State, Path: s.agentPath(), Environ: os.Environ(), MaxArms: maxArms, Keep: s.Arms.Keep << 20, StartedAt: time.Now().UTC(),
		Registry: reg, DB: db, Bus: conn, Log: newLog(),
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.url == "" {
		go func() {
			defer cancel()
			watchBus(ctx, conn, s.Bus(), at)
		}()
	}
	if err = h.Run(ctx); err != nil && f.url == "" && !conn.Connected() {
		h.Log.Warn("the bus went at the start", "error", err)
		return nil
	}
	return err
}

// watchBus returns when the connection has broken and serve has moved its bus
// since. It looks only while the connection is broken.
func watchBus(ctx context.Context, conn *bus.Conn, path string, at busFile) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-conn.Lost():
		}
		for !conn.Connected() {
			if now, err := readBusFile(path); err == nil && now != at {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(busLook):
			}
		}
	}
}

func newAgentStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the host agents",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			list, err := client.Hosts(c.Context())
			if err != nil {
				return err
			}
			if wantsJSON(c) {
				return printJSON(c, list)
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
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tHOST\tLIVE\tARMS\tVERSION\tHARNESSES")
	for _, h := range list {
		live := "no"
		if h.Live {
			live = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%s\t%s\n", h.ID, h.Hostname, live, h.Arms, h.MaxArms, h.Version, strings.Join(h.Capabilities, ", "))
	}
	return w.Flush()
}
