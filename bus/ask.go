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
	// watchEvery is the time between two checks that a host agent is still working on a
	// order.
	watchEvery = time.Second
	// goneAfter is how long nobody may listen for a host agent's orders before it
	// counts as gone. It is much longer than a reconnect takes.
	goneAfter = 3 * time.Second
	// silentAfter is how long a listening host agent may leave every alive request
	// unanswered. After that, an order to it is given up. A host agent answers within a
	// millisecond, and one on a loaded machine gets much longer. The host agent knows
	// this limit, so it types nothing for an order that was given up.
	silentAfter = 10 * time.Second
	// answerTime is how much earlier the host agent's time ends than the caller's. The
	// host agent's own error, which says what was done, then arrives in time. For short
	// times it is a tenth of the time.
	answerTime = 2 * time.Second
)

// opAlive asks a host agent how long it has listened. Package bus answers it. An older
// host agent answers that it does not know the op, so it is alive too.
const opAlive Op = "alive"

// Ask sends an order to a host agent and waits for its report. It decodes the report
// into out unless out is nil. Without a deadline on ctx it waits for DefaultTimeout.
//
// Ask returns EUnavailable if no host agent listens, and EInvalid if the order is too
// large. If the deadline passes, it returns ETimeout. If ctx is cancelled, or the host agent
// ends or falls silent, it returns EUnavailable. For the errors of the last two sentences
// Unanswered reports true, because the order may have been carried out. Any other
// coleo.Error is the host agent's own report.
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
		return unreachable{because: coleo.Errorf(coleo.EUnavailable,
			"the host agent %s does not answer: start it with 'coleo up' or 'coleo agent start'", host)}
	case errors.Is(err, nats.ErrMaxPayload):
		return coleo.Errorf(coleo.EInvalid, "nothing was done: %q is too large for the bus: %d bytes of at most %d",
			op, len(payload), c.nc.MaxPayload())
	case errors.Is(err, context.DeadlineExceeded):
		return unanswered{coleo.Errorf(coleo.ETimeout,
			"the host agent %s did not answer %q in time: whether that was done is not known", host, op)}
	case err != nil:
		return unanswered{coleo.Errorf(coleo.EUnavailable,
			"ask the host agent %s to %s: %v: whether that was done is not known", host, op, err)}
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

// watch stops the wait for a report that can no longer come. The host agent has gone,
// falls silent, or was started after the order was sent.
func (c *Conn) watch(ctx context.Context, host string, o order, gone context.CancelCauseFunc) {
	op, sent := o.Op, time.Now()
	var silent time.Time             // the time since nobody listens; zero while somebody does
	heard := o.Waiting - silentAfter // the time of its last sign of life
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
		because := coleo.Errorf(coleo.EUnavailable,
			"the host agent %s ended while it carried out %q: whether that was done is not known", host, op)
		switch {
		case err == nil && age < elapsed:
			gone(unanswered{because})
			return
		case !silent.IsZero() && time.Since(silent) > goneAfter:
			gone(unreachable{because: because, sent: true})
			return
		case boottime.Now()-heard > silentAfter:
			gone(unanswered{coleo.Errorf(coleo.EUnavailable,
				"the host agent %s gives no sign of life: whether %q was done is not known", host, op)})
			return
		}
	}
}

// age returns how long a host agent has listened for orders, or forever if it does not
// say. It also tells the host agent how long the caller is sure to wait for the order.
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

// unreachable is the error for a host agent that nobody can ask. A host agent that cannot
// reach something itself returns the same code but not this type.
type unreachable struct {
	because *coleo.Error
	sent    bool // a host agent got the order and has gone since
}

// Error returns the message, which says that the host agent cannot be asked.
func (u unreachable) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unreachable) Unwrap() error { return u.because }

// unanswered is the error for an order that was sent but whose report did not come. The
// order may have been carried out, or may still be.
type unanswered struct{ because *coleo.Error }

// Error returns the message, which says that the report did not come.
func (u unanswered) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error with its code.
func (u unanswered) Unwrap() error { return u.because }

// Unanswered reports whether err leaves open what became of an order. Any other error is
// the host agent's own report, or means that nobody got the order.
func Unanswered(err error) bool {
	var gone unreachable
	return errors.As(err, new(unanswered)) || errors.As(err, &gone) && gone.sent
}

// Unreachable reports whether err means that no host agent listens.
func Unreachable(err error) bool { return errors.As(err, new(unreachable)) }

// Serve answers the orders to a host with handle until ctx ends. It calls handle in a
// new goroutine for each order. Serve itself returns as soon as it listens.
func (c *Conn) Serve(ctx context.Context, host string,
	handle func(ctx context.Context, op Op, data json.RawMessage) (any, error)) error {
	began := time.Now()
	// The queue delivers each order once, even if two host agents have the same id.
	sub, err := c.nc.QueueSubscribe(commandSubject(host), "host", func(msg *nats.Msg) {
		go func() {
			var o order
			var r report
			if err := json.Unmarshal(msg.Data, &o); err != nil {
				r.Error = coleo.Errorf(coleo.EInvalid, "unreadable command: %v", err)
			} else if o.Op == opAlive {
				c.senders.renew(o.ID, o.Waiting)
				r = carryOut(ctx, o, func(context.Context, Op, json.RawMessage) (any, error) {
					return time.Since(began), nil
				})
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

// answer sends the report of an order. If the report cannot be sent, it sends an error
// instead, which says that the order was carried out.
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
	instead := report{Error: coleo.Errorf(coleo.EInternal, "%q was carried out, but its answer could not be sent: %v",
		op, err)}
	if payload, err = json.Marshal(instead); err == nil {
		_ = msg.Respond(payload) // Unsent has reported the reason
	}
}
