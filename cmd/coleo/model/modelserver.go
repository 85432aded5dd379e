package model

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/executable"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/conformance/mcpserver"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/conformance/netns"
)

// This file contains the verbs that run the scripted model and the conformance suite's MCP server.

func newModelserverCommand() *cobra.Command {
	var cfg modelserver.Config
	var script string
	var isolated, inside bool
	c := &cobra.Command{
		Use:   "modelserver",
		Short: "Run the scripted model as a separate server, without a key",
		Long: `Run the scripted model as a separate server, until Ctrl-C.

The scripted model is a program that answers in place of a model. It needs no
key and no network. This prints its address for 'coleo arm spawn --endpoint'.
An arm with '--model scripted' has a scripted model of its own and does not
need this server.`,
		Args: verb.Exactly(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if isolated && !inside {
				return executable.RunIsolated(c, "--inside")
			}
			if inside {
				if err := netns.LoopbackUp(); err != nil {
					return err
				}
			}
			if script != "" {
				var err error
				if cfg.Script, err = modelserver.LoadScript(script); err != nil {
					return err
				}
			}
			srv, err := modelserver.Start(cfg)
			if err != nil {
				return explainTakenAddress(err)
			}
			if err := announce(c, srv.URL(), inside); err != nil {
				return err
			}
			<-c.Context().Done()
			return srv.Close()
		},
	}
	c.Flags().StringVar(&cfg.Addr, "addr", "127.0.0.1:0", "loopback `ADDRESS` to listen on")
	c.Flags().StringVar(&cfg.Control, "control", "", "`PATH` of a unix socket to control the model")
	c.Flags().StringVar(&cfg.Log, "log", "", "`FILE` for the record of all requests, as JSON lines")
	c.Flags().StringVar(&script, "script", "", "`FILE` with the model's answers")
	c.Flags().BoolVar(&isolated, "isolated", false,
		"use a network namespace of its own; print flags for arms")
	c.Flags().BoolVar(&inside, "inside", false, "this process is in the namespace already")
	_ = c.Flags().MarkHidden("inside")
	return c
}

// explainTakenAddress returns an error with advice if another program uses the address. It returns
// any other error unchanged.
func explainTakenAddress(err error) error {
	var op *net.OpError
	if !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &op) {
		return err
	}
	flag := "--addr"
	if op.Net == "unix" {
		flag = "--control"
	}
	return coleo.Errorf(coleo.EConflict, "the scripted model cannot listen on %s, "+
		"which is taken: give another %s, or none", op.Addr, flag)
}

// scriptedModel is the JSON output of the verb "modelserver".
type scriptedModel struct {
	URL  string   `json:"url"`
	PID  int      `json:"pid"`
	Wrap []string `json:"wrap,omitempty"` // a command that runs the command line after it in the model's namespace
}

func announce(c *cobra.Command, url string, isolated bool) error {
	m := scriptedModel{URL: url, PID: os.Getpid()}
	if isolated {
		var err error
		if m.Wrap, err = netns.Enter(m.PID); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("scripted model at %s; give it to an arm: --profile hermetic --endpoint %s", url, url)
	for _, word := range m.Wrap {
		line += " --wrap=" + word
	}
	return verb.Say(c, line, m)
}

// newProbeCommand returns the verb that runs the conformance suite's MCP server. Agent CLIs start
// this verb during the suite.
func newProbeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "mcp-probe RECORD",
		Short:  "Serve one MCP tool and record who calls it",
		Hidden: true,
		Args:   verb.Exactly(1, "the file for its record"),
		RunE: func(c *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT)
			return mcpserver.Run(c.Context(), os.Stdin, os.Stdout, args[0])
		},
	}
}
