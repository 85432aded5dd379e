package api

import (
	"context"
	"errors"
	"net"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
)

// How long a client waits for the answer to a request. Each is somewhat longer
// than what serve itself allows for it, so that serve's own error comes in time.
const (
	answerMargin = 10 * time.Second
	lookTime     = 30*time.Second + answerMargin  // a host agent has 30 s to be looked at
	steerTime    = 90*time.Second + answerMargin  // an answer to a dialog, an interrupt; a prompt has more
	killTime     = 30*time.Second + answerMargin  // kill and remove
	startTime    = 150*time.Second + answerMargin // spawn and recover: look, end, start, and the catalogue of models
)

const (
	// peerEvery is how often it is looked at whether the server's process can answer.
	peerEvery = time.Second
	// peerTwice is between two such looks before nothing is sent: a process may be
	// stopped for a moment.
	peerTwice = 500 * time.Millisecond
)

// unsent is the error for a request that nobody got.
type unsent struct{ because *coleo.Error }

// Error says that nobody got it.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the error with its code.
func (u unsent) Unwrap() error { return u.because }

// undialled is the error for a socket that could not be reached.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// Unsent tells whether an error says that no server got the request.
func Unsent(err error) bool { return errors.As(err, new(unsent)) }

// watched returns a context for one request, which ends when the server's process
// cannot answer it. It fails when that is so from the beginning.
func (c *Client) watched(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := func() { cancel(nil) }
	if c.peer == nil {
		return ctx, done, nil
	}
	if c.peer() != nil && rest(ctx, peerTwice) {
		if err := c.peer(); err != nil {
			done()
			return nil, nil, unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: %w", err)}
		}
	}
	go func() {
		for last := error(nil); rest(ctx, peerEvery); {
			err := c.peer()
			if err != nil && last != nil {
				cancel(coleo.Errorf(coleo.EUnavailable, "%w", err))
			}
			last = err
		}
	}()
	return ctx, done, nil
}

// rest waits, and tells whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unreachable is the error for a request without an answer. It says of an order
// that may have arrived that it is not known whether it was carried out.
func (c *Client) unreachable(ctx context.Context, method string, err error) error {
	unknown := ""
	if method != get {
		unknown = ": whether it was done is not known"
	}
	var cause *coleo.Error
	var op *net.OpError
	switch {
	case errors.As(err, new(unsent)):
		return err
	case errors.As(context.Cause(ctx), &cause):
		return coleo.Errorf(cause.Code, "%s%s", cause.Message, unknown)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return coleo.Errorf(coleo.ETimeout, "%s did not answer in time%s", c.where, unknown)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(undialled)), errors.As(err, &op) && op.Op == "dial":
		return unsent{coleo.Errorf(coleo.EUnavailable, "no coleo answers at %s (%w); start it with `coleo serve` or `coleo up`", c.where, err)}
	}
	return coleo.Errorf(coleo.EUnavailable, "the connection to coleo at %s ended before the answer came (%w)%s", c.where, err, unknown)
}

// promptTime is how long a client waits until a prompt is delivered.
func promptTime(text string) time.Duration { return brain.PromptTime(text) + answerMargin }

// kept marks the error of a prompt that no server got: it was not delivered.
func kept(err error) error {
	var u unsent
	if !errors.As(err, &u) {
		return err
	}
	marked := *u.because
	marked.Delivered = new(bool)
	return unsent{&marked}
}
