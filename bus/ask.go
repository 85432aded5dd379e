package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"coleo.dev"
	"coleo.dev/boottime"
)

const (
	// watchEvery is between two looks whether a host agent that works on a
	// command is still there.
	watchEvery = time.Second
	// goneAfter is how long nobody may listen for a host agent's commands until
	// it counts as gone: much longer than it takes to connect again.
	goneAfter = 3 * time.Second
	// silentAfter is how long a host agent that listens may leave every question
	// for a sign of life unanswered until a command to it is given up. It answers
	// within a millisecond; one on a loaded machine gets much longer. The host
	// agent is told that limit, so it types nothing for a command that was given up.
	silentAfter = 10 * time.Second
	// answerTime is how much earlier a host agent's time is up than that of who asks
	// it: its own error, which says what was done, comes in time then. It is a tenth
	// of shorter times.
	answerTime = 2 * time.Second
)

// opAlive asks a host agent for how long it has listened; package bus answers
// it. An older one answers that it does not know it: it is alive.
const opAlive Op = "alive"

// Ask sends a command to a host agent and waits for its report, which it
// decodes into out unless that is nil. Without a host agent that listens the
// error is EUnavailable.
func (c *Conn) Ask(ctx context.Context, host string, op Op, in, out any) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	deadline, _ := ctx.Deadline()
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode %s: %w", op, err)
	}
	sent, left := boottime.Now(), time.Until(deadline)
	left -= min(answerTime, left/10)
	o := order{ID: rand.Text(), Op: op, Data: data, Timeout: left, End: sent + left, Waiting: sent + silentAfter}
	payload, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode %s: %w", op, err)
	}
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	go c.watch(ctx, host, o, gone)
	msg, err := c.nc.RequestWithContext(ctx, commandSubject(host), payload)
	if cause := context.Cause(ctx); err != nil && errors.As(cause, new(*coleo.Error)) {
		return cause
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return unreachable{because: coleo.Errorf(coleo.EUnavailable, "the host agent %s does not answer: start it with 'coleo up' or 'coleo agent start'", host)}
	case errors.Is(err, nats.ErrMaxPayload):
		return coleo.Errorf(coleo.EInvalid, "nothing was done: %q is too large for the bus: %d bytes of at most %d", op, len(payload), c.nc.MaxPayload())
	case errors.Is(err, context.DeadlineExceeded):
		return unanswered{coleo.Errorf(coleo.ETimeout, "the host agent %s did not answer %q in time: whether that was done is not known", host, op)}
	case err != nil:
		return unanswered{coleo.Errorf(coleo.EUnavailable, "ask the host agent %s to %s: %v: whether that was done is not known", host, op, err)}
	}
	var r report
	if err := json.Unmarshal(msg.Data, &r); err != nil {
		return fmt.Errorf("decode the report of %s: %w", op, err)
	}
	if r.Error != nil {
		return r.Error
	}
	if out == nil || len(r.Data) == 0 {
		return nil
	}
	return json.Unmarshal(r.Data, out)
}

// watch ends the wait for a report that cannot come any more: of a host agent
// that has gone, or that was started after the command was sent.
func (c *Conn) watch(ctx context.Context, host string, o order, gone context.CancelCauseFunc) {
	op, sent := o.Op, time.Now()
	var silent time.Time             // since when nobody listens; zero: somebody does
	heard := o.Waiting - silentAfter // when it last gave a sign of life
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, elapsed := boottime.Now(), time.Since(sent)
		age, err := c.age(ctx, host, o.ID, heard+silentAfter)
		switch {
		case !errors.Is(err, nats.ErrNoResponders):
			silent = time.Time{}
		case silent.IsZero():
			silent = time.Now()
		}
		if err == nil {
			heard = asked
		}
		because := coleo.Errorf(coleo.EUnavailable, "the host agent %s ended while it carried out %q: whether that was done is not known", host, op)
		switch {
		case err == nil && age < elapsed:
			gone(unanswered{because})
			return
		case !silent.IsZero() && time.Since(silent) > goneAfter:
			gone(unreachable{because: because, sent: true})
			return
		case boottime.Now()-heard > silentAfter:
			gone(unanswered{coleo.Errorf(coleo.EUnavailable, "the host agent %s gives no sign of life: whether %q was done is not known", host, op)})
			return
		}
	}
}

// age returns for how long a host agent has listened for commands; for ever if
// it does not say. It tells the host agent until when a command is waited for.
func (c *Conn) age(ctx context.Context, host, id string, waiting time.Duration) (time.Duration, error) {
	const forever = time.Duration(1<<63 - 1)
	ctx, cancel := context.WithTimeout(ctx, watchEvery)
	defer cancel()
	payload, err := json.Marshal(order{ID: id, Op: opAlive, Timeout: watchEvery, Waiting: waiting})
	if err != nil {
		return forever, err
	}
	msg, err := c.nc.RequestWithContext(ctx, commandSubject(host), payload)
	if err != nil {
		return forever, err
	}
	var r report
	age := forever
	if err := json.Unmarshal(msg.Data, &r); err != nil || r.Error != nil {
		return forever, err
	}
	return age, json.Unmarshal(r.Data, &age)
}

// unreachable is the error for a host agent that nobody can ask. What a host
// agent itself cannot reach is another matter, with the same code.
type unreachable struct {
	because *coleo.Error
	sent    bool // somebody got the command, and has gone since
}

// Error says that it cannot be asked.
func (u unreachable) Error() string { return u.because.Message }

// Unwrap returns the error with its code.
func (u unreachable) Unwrap() error { return u.because }

// unanswered is the error for a command that was sent and whose report did not
// come: it may have been carried out, and may still be.
type unanswered struct{ because *coleo.Error }

// Error says that the report did not come.
func (u unanswered) Error() string { return u.because.Message }

// Unwrap returns the error with its code.
func (u unanswered) Unwrap() error { return u.because }

// Unanswered tells whether an error leaves open what became of a command. Any
// other error is the host agent's own report, or says that nobody got the
// command.
func Unanswered(err error) bool {
	var gone unreachable
	return errors.As(err, new(unanswered)) || errors.As(err, &gone) && gone.sent
}

// Unreachable tells whether an error says that no host agent listens.
func Unreachable(err error) bool { return errors.As(err, new(unreachable)) }

// Serve answers the commands to a host with handle, each in a goroutine of its
// own, until ctx ends.
func (c *Conn) Serve(ctx context.Context, host string, handle func(ctx context.Context, op Op, data json.RawMessage) (any, error)) error {
	began := time.Now()
	// The queue has one taker for each command, should two host agents have one id.
	sub, err := c.nc.QueueSubscribe(commandSubject(host), "host", func(msg *nats.Msg) {
		go func() {
			var o order
			var r report
			if err := json.Unmarshal(msg.Data, &o); err != nil {
				r.Error = coleo.Errorf(coleo.EInvalid, "unreadable command: %v", err)
			} else if o.Op == opAlive {
				c.leases.renew(o.ID, o.Waiting)
				r = carryOut(ctx, o, func(context.Context, Op, json.RawMessage) (any, error) { return time.Since(began), nil })
			} else {
				r = c.carryOut(ctx, o, handle)
			}
			c.answer(msg, o.Op, r)
		}()
	})
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return c.nc.Flush()
}

// answer sends the report of a command. In place of one that cannot be sent it
// sends an error, which says that the command was carried out.
func (c *Conn) answer(msg *nats.Msg, op Op, r report) {
	payload, err := json.Marshal(r)
	if limit := c.nc.MaxPayload(); err == nil && int64(len(payload)) > limit {
		err = fmt.Errorf("it is too large: %d bytes of at most %d", len(payload), limit)
	}
	if err == nil {
		err = msg.Respond(payload)
	}
	if err == nil {
		return
	}
	if c.Unsent != nil {
		c.Unsent(op, err)
	}
	instead := report{Error: coleo.Errorf(coleo.EInternal, "%q was carried out, but its answer could not be sent: %v", op, err)}
	if payload, err = json.Marshal(instead); err == nil {
		_ = msg.Respond(payload) // Unsent was told why
	}
}
