package setup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/holder/process"
)

// WithClient returns the function of a verb that needs the API. It calls f with a new client. If
// serve does not run, the function returns an error with the command that starts Coleo. If the user
// names a missing arm, the error suggests a similar name.
func WithClient(
	do func(c *cobra.Command, client *apiclient.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := New()
		if err != nil {
			return err
		}
		client, err := s.Client()
		if err != nil {
			return err
		}
		err = do(c, client, args)
		if apiclient.IsUnsent(err) && s.ServeStopped() == nil && !s.ServeAnswers(c.Context()) {
			notRunning := coleo.Errorf(coleo.EUnavailable, "Coleo does not run here: start it with 'coleo up'")
			var e *coleo.Error
			if errors.As(err, &e) {
				notRunning.Delivered = e.Delivered
			}
			return notRunning
		}
		return didYouMean(c.Context(), client, err)
	}
}

// probeTimeout is the time limit for one check of whether serve answers.
const probeTimeout = 3 * time.Second

// Client returns a client of this user's serve on this machine.
func (s Setup) Client() (*apiclient.Client, error) {
	return apiclient.New(apiclient.Config{Socket: s.Socket(), Peer: s.ServeStopped})
}

// OperatorClient returns a client of this user's serve with only the rights of the given operator
// token.
func (s Setup) OperatorClient(value string) (*apiclient.Client, error) {
	return apiclient.New(apiclient.Config{Socket: s.Socket(), Token: value, Peer: s.ServeStopped})
}

// ServeStopped returns an error if a signal has stopped serve. The error contains the command that
// makes serve continue.
func (s Setup) ServeStopped() error {
	if id, runs := s.Process("serve"); runs && process.Look(id) == process.Stopped {
		return coleo.Errorf(coleo.EUnavailable, "serve (process %d) is stopped: 'kill -CONT %d' continues it", id.PID,
			id.PID)
	}
	return nil
}

// ServeAnswers reports whether serve answers on its socket.
func (s Setup) ServeAnswers(ctx context.Context) bool { return s.ServeVersion(ctx) != "" }

// ServeVersion returns the version of the running serve, or "" if no serve answers.
func (s Setup) ServeVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client, err := s.Client()
	if err != nil {
		return ""
	}
	found, err := client.Health(ctx)
	if err != nil {
		return ""
	}
	return found
}

// HostAgentAnswers reports whether this machine's host agent runs and answers serve.
func (s Setup) HostAgentAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	id, runs := s.Process("agent")
	client, err := s.Client()
	if err != nil || !runs {
		return false
	}
	list, err := client.Hosts(ctx)
	return err == nil && slices.ContainsFunc(list, func(h coleo.HostInfo) bool { return h.Live && h.PID == id.PID })
}

// WithServe returns the function of a verb that needs serve. It calls f with a client and the
// Setup, or returns an error if serve does not answer.
func WithServe(f func(*cobra.Command, *apiclient.Client, Setup, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, err := New()
		if err != nil {
			return err
		}
		client, err := s.Client()
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Health(c.Context()); err != nil {
			return err
		}
		return f(c, client, s, args)
	}
}
