package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api"
	"coleo.dev/brain"
	"coleo.dev/bus"
	"coleo.dev/store"
)

func newServeCommand() *cobra.Command {
	var addr, onWait string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the API, the dashboard and the brain in the foreground",
		Args:  exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := newSetup()
			if err != nil {
				return err
			}
			if addr != "" {
				s.Serve.Addr = addr
			}
			if onWait != "" {
				s.Notify = onWait
			}
			return serve(c.Context(), s)
		},
	}
	c.Flags().StringVar(&addr, "addr", "", "loopback address of the API (default 127.0.0.1:8080)")
	c.Flags().StringVar(&onWait, "notify", "", "shell command to run when an arm starts to wait for someone (COLEO_ARM_NAME, COLEO_DIALOG)")
	return c
}

func serve(ctx context.Context, s setup) error {
	log := newLog()
	if err := s.Ensure(); err != nil {
		return err
	}
	reg, err := s.registry()
	if err != nil {
		return err
	}
	db, err := store.OpenServe(s.ServeDB())
	if err != nil {
		return err
	}
	defer db.Close()
	if err := s.leaveWord("serve", os.Getpid()); err != nil { // the database is this process's alone
		return err
	}
	defer s.takeBack("serve")
	server, conn, err := openBus(s)
	if err != nil {
		return err
	}
	defer server.Close()
	defer conn.Close()
	b := brain.New(brain.Config{
		DB: db, Bus: conn, Registry: reg, Log: log, Now: time.Now,
		Defaults: brain.Defaults{Harness: s.Arms.Harness, Provider: s.Arms.Provider, Model: s.Arms.Model},
	})
	if s.Notify != "" {
		go notify(ctx, b, s.Notify, log)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running := make(chan error, 1)
	go func() { running <- b.Run(ctx) }()
	err = listenAndServe(ctx, s, b, log)
	cancel()
	return errors.Join(err, <-running)
}

// openBus starts the embedded bus where it was before, if that is free, so
// that a host agent finds it again, and leaves word of it.
func openBus(s setup) (*bus.Server, *bus.Conn, error) {
	last, _ := readBusFile(s.Bus())
	token, err := secret(s.Bus() + ".token")
	if err != nil {
		return nil, nil, err
	}
	addr := "127.0.0.1:0"
	if host, ok := hostOf(last.URL); ok {
		addr = host
	}
	server, err := bus.Listen(addr, token)
	if err != nil && addr != "127.0.0.1:0" {
		server, err = bus.Listen("127.0.0.1:0", token)
	}
	if err != nil {
		return nil, nil, err
	}
	word, err := json.Marshal(busFile{URL: server.URL(), Token: token})
	if err == nil {
		err = writeFile(s.Bus(), word)
	}
	var conn *bus.Conn
	if err == nil {
		conn, err = bus.Dial(server.URL(), token, "serve")
	}
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	return server, conn, nil
}

func hostOf(url string) (string, bool) {
	const scheme = "nats://"
	if len(url) <= len(scheme) || url[:len(scheme)] != scheme {
		return "", false
	}
	_, port, err := net.SplitHostPort(url[len(scheme):])
	if err != nil {
		return "", false
	}
	if _, err := strconv.Atoi(port); err != nil {
		return "", false
	}
	return "127.0.0.1:" + port, true
}

// listenAndServe serves the API on loopback, with a token, and on a path
// socket for the same user, without one.
func listenAndServe(ctx context.Context, s setup, b *brain.Brain, log *slog.Logger) error {
	token, err := secret(s.Token())
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", s.Serve.Addr)
	if err != nil {
		return coleo.Errorf(coleo.EConflict, "the API cannot listen on %s (%v): give another --addr", s.Serve.Addr, err)
	}
	defer tcp.Close()
	path, err := api.ListenSocket(s.Socket())
	if err != nil {
		return err
	}
	defer path.Close()
	server, err := api.New(api.Config{Brain: b, Token: token, Addr: tcp.Addr().String(), Version: version, Log: log})
	if err != nil {
		return err
	}
	if err := writeFile(s.Socket()+".addr", []byte(tcp.Addr().String()+"\n")); err != nil {
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
