package api

import (
	"context"
	"errors"
	"net"
	"time"

	"coleo.dev"
	"coleo.dev/brain"
)

// The times that a client waits for an answer. Serve gives up answerMargin earlier, so
// that serve's own error arrives in time.
const (
	answerMargin = 10 * time.Second
	lookTime     = 30*time.Second + answerMargin  // a host agent has 30 s to reply
	steerTime    = 90*time.Second + answerMargin  // answer a dialog, interrupt, compact; for a prompt see promptTime
	killTime     = 30*time.Second + answerMargin  // kill and remove
	startTime    = 150*time.Second + answerMargin // spawn and recover: look, end, start, read the model catalogue
)

const (
	// peerEvery is the time between two checks whether the server's process can answer.
	peerEvery = time.Second
	// peerTwice is the pause before a second check. The client refuses a request only
	// if both checks fail, because a process is sometimes stopped only for a moment.
	peerTwice = 500 * time.Millisecond
)

// unsent is the error for a request that no server received.
type unsent struct{ because *coleo.Error }

// Error returns a message that says that no server received the request.
func (u unsent) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unsent) Unwrap() error { return u.because }

// undialled is the error for a socket that could not be reached.
type undialled struct{ error }

func (u undialled) Unwrap() error { return u.error }

// Unsent reports whether err means that no server received the request.
func Unsent(err error) bool { return errors.As(err, new(unsent)) }

// watched returns a context for one request. The context ends when the server's process
// can no longer answer. If the process cannot answer now, watched returns an error
// instead.
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

// rest waits for the time d and returns true. If ctx ends first, it returns false.
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

// unreachable returns the error for a request that got no answer. If the request could
// have changed something, the message says that nobody knows whether the request was
// carried out.
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
		return unsent{coleo.Errorf(coleo.EUnavailable,
			"no coleo answers at %s (%w); start it with `coleo serve` or `coleo up`", c.where, err)}
	}
	return coleo.Errorf(coleo.EUnavailable, "the connection to coleo at %s ended before the answer came (%w)%s",
		c.where, err, unknown)
}

// promptTime returns how long a client waits until a prompt is delivered.
func promptTime(text string) time.Duration { return brain.PromptTime(text) + answerMargin }

// notDelivered sets Delivered to false in the error of a prompt that no server
// received. It returns any other error unchanged.
func notDelivered(err error) error {
	var u unsent
	if !errors.As(err, &u) {
		return err
	}
	marked := *u.because
	marked.Delivered = new(bool)
	return unsent{&marked}
}
