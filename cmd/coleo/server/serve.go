package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/brain"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/bus/busserver"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/template"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/holder/process"
	"coleo.dev/localsocket"
	"coleo.dev/pricebook"
	"coleo.dev/store"
	"coleo.dev/trigger/runner"
	"coleo.dev/wholefile"
)

// This file contains the verb serve.

func newServeCommand(now func() time.Time) *cobra.Command {
	var addr, notify string
	var fromInput bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run serve in the foreground: API, dashboard, brain and bus",
		Long: `Run serve in the foreground: the API, the dashboard, the brain and the bus.

'coleo up' starts serve in the background, and a host agent with it. SIGINT and
SIGTERM end serve. The arms continue to run.

--notify runs a shell command for each arm that asks something and for each
run that ends. The command gets COLEO_EVENT, COLEO_ARM_NAME, COLEO_SUBJECT and
other variables: see docs/cli.md. It takes precedence over notify in
config.toml. All users of the machine can see it in the list of processes, so
let the command read a secret from a file.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			if addr != "" {
				s.Serve.Addr = addr
			}
			if fromInput {
				if notify, err = readNotify(c.InOrStdin()); err != nil {
					return err
				}
			}
			if notify != "" {
				s.Notify = notify
			}
			return serve(c.Context(), s, now)
		},
	}
	c.Flags().StringVar(&addr, "addr", "", "loopback `ADDRESS` (default 127.0.0.1:8080)")
	c.Flags().StringVar(&notify, "notify", "", notifyUsage)
	c.Flags().BoolVar(&fromInput, setup.NotifyFromInput, false, "read the command of --notify from standard input")
	_ = c.Flags().MarkHidden(setup.NotifyFromInput) // ignore the error, because this flag exists
	return c
}

// notifyMost is the largest size of a notification command on standard input, in bytes. A command
// in a list of arguments cannot be larger.
const notifyMost = 128 << 10

// readNotify reads the notification command that 'coleo up' sends.
func readNotify(in io.Reader) (string, error) {
	command, err := io.ReadAll(io.LimitReader(in, notifyMost+1))
	if err != nil {
		return "", fmt.Errorf("read the command of --notify: %w", err)
	}
	if len(command) > notifyMost {
		return "", coleo.Errorf(coleo.EInvalid, "the command of --notify has more than %d KiB: make it shorter",
			notifyMost>>10)
	}
	return string(command), nil
}

func serve(ctx context.Context, s setup.Setup, now func() time.Time) error {
	log := newLog()
	if err := s.Prepare(); err != nil {
		return err
	}
	reg, err := installed.Registry(s)
	if err != nil {
		return err
	}
	db, err := store.OpenServe(s.ServeDB())
	if err != nil {
		return openError(err)
	}
	defer db.Close()
	// This process has the database open, so no other serve runs.
	if err := s.RecordProcess("serve", os.Getpid()); err != nil {
		return err
	}
	defer s.RemoveRecord("serve")
	server, conn, err := openBus(s)
	if err != nil {
		return err
	}
	defer server.Close()
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := hostConfig(s, now)
	if err != nil {
		return err
	}
	c.Registry = reg
	local := &localHost{setup: s, config: c, bus: server, log: log, life: ctx}
	b := brain.New(brain.Config{
		DB: db, Bus: conn, Registry: reg, Log: log, Now: now,
		Defaults: start.Defaults{Harness: s.Arms.Harness, Provider: s.Arms.Provider, Model: s.Arms.Model,
			Fallback: s.Models.Fallback, OnPartition: s.Arms.OnPartition, Tools: s.Arms.Tools, Policy: s.Policy.Mode,
			SandboxLimit: s.Sandbox.Limit, SandboxImage: s.Sandbox.Image,
			OnLimit: s.Limits.OnLimit, ContinueWith: s.Limits.ContinueWith},
		Prices:     pricebook.NewKeeper(s.OwnPrices(), s.FetchedPrices(), log).Book,
		RemoteOnly: setup.RemoteOnly(), AllowLocal: setup.AllowsLocal(), Local: local.start,
	})
	defer local.wait()
	var following sync.WaitGroup
	defer following.Wait() // the notifier and the triggers use the database, so they must end before it is closed
	defer cancel()
	if s.Notify != "" {
		following.Go(func() { newNotifier(b, db, s.Notify, log).follow(ctx) })
	} else {
		forgetNotices(ctx, db, log)
	}
	local.startIfNeeded()
	triggers := runner.New(runner.Config{DB: db, On: s.Triggers.Enabled, Start: b.StartOnce, Template: template.Usable(s),
		Secrets: s.WebhookSecrets(), Log: log, Now: now})
	following.Go(func() { triggers.Run(ctx) })
	return bothUntilOneEnds(ctx, b.Run, func(ctx context.Context) error {
		return listenAndServe(ctx, s, b, triggers, log)
	})
}

// bothUntilOneEnds runs two functions at the same time. As soon as one of them returns,
// bothUntilOneEnds cancels the context of the other. It returns the errors of both when both have
// returned.
func bothUntilOneEnds(ctx context.Context, one, other func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- one(ctx)
	}()
	err := other(ctx)
	cancel()
	return errors.Join(<-ended, err)
}

// openBus starts serve's bus and connects this process to the bus.
func openBus(s setup.Setup) (*busserver.Server, *bus.Conn, error) {
	for _, old := range s.OldBusFiles() {
		_ = os.Remove(old) // an earlier version, whose bus listened on TCP, may have left this file
	}
	hosts, err := bus.KeyFile(s.BusKey())
	if err != nil {
		return nil, nil, err
	}
	server, err := busserver.Listen(s.BusSocket(), hosts, func(p localsocket.Peer) error {
		return process.OutsideArms(p.PID)
	})
	if err != nil {
		return nil, nil, err
	}
	conn, err := server.Dial("serve")
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	return server, conn, nil
}

// listenAndServe serves the API until ctx ends: over TCP on loopback with a token, and over a unix
// socket of this user without a token.
func listenAndServe(ctx context.Context, s setup.Setup, b *brain.Brain, triggers api.Triggers,
	log *slog.Logger) error {
	token, err := readOrMakeSecret(s.Token())
	if err != nil {
		return err
	}
	tcp, err := listenTCP(s)
	if err != nil {
		return err
	}
	defer tcp.Close()
	path, err := localsocket.Listen(s.Socket(), nil)
	if err != nil {
		return err
	}
	defer path.Close()
	server, err := api.New(api.Config{
		Brain: b, Token: token, Addr: tcp.Addr().String(), Version: executable.Version, Log: log,
		Admit: process.OutsideArms, ArmOf: process.ArmOf, Tokens: b.DB,
		KeepToken: func(token string) error { return keepToken(s, token) }, Browsers: s.Browsers(),
		Triggers: triggers,
	})
	if err != nil {
		return err
	}
	if err := wholefile.Replace(s.Socket()+".addr", []byte(tcp.Addr().String()+"\n"), wholefile.OwnerOnly); err != nil {
		return err
	}
	log.Info("serving", "dashboard", "http://"+tcp.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { defer cancel(); ended <- server.Serve(ctx, tcp, false) }()
	go func() { defer cancel(); ended <- server.Serve(ctx, path, true) }()
	return errors.Join(<-ended, <-ended)
}

// readOrMakeSecret returns the content of a file. If the file is missing, it first creates a file
// with a random word. Only the owner can read the new file.
func readOrMakeSecret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err == nil && len(raw) > 0 {
		return strings.TrimSpace(string(raw)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	word := strings.ToLower(rand.Text())
	return word, wholefile.Replace(path, []byte(word+"\n"), wholefile.OwnerOnly)
}
