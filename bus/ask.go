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

// The functions in this file send orders to host agents and wait for their reports. Other functions here
// receive orders.

const (
	// watchEvery is the time between two checks while Ask waits for a report. Each check asks the
	// host agent whether it still works on the order.
	watchEvery = time.Second
	// goneAfter is a time limit. If nothing has listened for a host agent's orders for so long, the
	// host agent counts as gone. A reconnect takes much less time.
	goneAfter = 3 * time.Second
	// silentAfter is the time after which Ask gives up on an order if the host agent does not reply to
	// opAlive. A host agent normally replies within a millisecond, and on a loaded machine in much less than
	// silentAfter. The host agent knows this limit, and types nothing for an order that Ask has given up on.
	silentAfter = 10 * time.Second
	// answerTime is the part of the caller's time that is reserved for sending the report. The host
	// agent must finish this long before the caller's deadline. Otherwise its own error, which says
	// what was done, would arrive too late. If a tenth of the caller's time is shorter than
	// answerTime, Ask uses that tenth instead.
	answerTime = 2 * time.Second
)

// opAlive asks a host agent how long it has listened for orders. Package bus itself replies. An
// older host agent replies that it does not know this op, which also shows that the host agent is
// alive.
const opAlive Op = "alive"

// Ask sends an order to a host agent and waits for the host agent's report. It decodes the report into `out`,
// unless `out` is nil. If ctx has no deadline, Ask waits for DefaultTimeout.
//
// If nothing was done, Ask returns one of these errors:
//   - EInvalid if the order is too large;
//   - EUnavailable if no host agent listens.
//
// If the host agent may have carried out the order, Ask returns one of these errors, and IsUnanswered
// returns true for them:
//   - ETimeout if the deadline passes;
//   - EUnavailable if ctx is cancelled, or if the host agent ends or stops replying.
//
// Any other coleo.Error is the host agent's own report.
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

// EndedDuring returns the error of an order that the end of its host agent has cut off.
func EndedDuring(host string, op Op) *coleo.Error {
	return coleo.Errorf(coleo.EUnavailable,
		"the host agent %s ended while it carried out %q: whether that was done is not known", host, op)
}

// watch calls onGone when the report of an order can no longer arrive. This is the case if the host
// agent has ended, is silent, or was started after the order was sent.
func (c *Conn) watch(ctx context.Context, host string, o order, onGone context.CancelCauseFunc) {
	op, sent := o.Op, time.Now()
	var silent time.Time             // the time when the host agent stopped listening; zero while it listens
	heard := o.Waiting - silentAfter // the time of the host agent's last sign of life
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, elapsed := boottime.Now(), time.Since(sent)
		age, err := c.listeningTime(ctx, host, o.ID, heard+silentAfter)
		switch {
		case !errors.Is(err, nats.ErrNoResponders):
			silent = time.Time{}
		case silent.IsZero():
			silent = time.Now()
		}
		if err == nil {
			heard = asked
		}
		because := EndedDuring(host, op)
		switch {
		case err == nil && age < elapsed:
			onGone(unanswered{because})
			return
		case !silent.IsZero() && time.Since(silent) > goneAfter:
			onGone(unreachable{because: because, sent: true})
			return
		case boottime.Now()-heard > silentAfter:
			onGone(unanswered{coleo.Errorf(coleo.EUnavailable,
				"the host agent %s gives no sign of life: whether %q was done is not known", host, op)})
			return
		}
	}
}

// listeningTime returns how long a host agent has listened for orders. If the host agent does not report this
// time, listeningTime returns the constant `forever`. The request also tells the host agent `waiting`, the
// time until which the caller will certainly wait for the report of the order.
func (c *Conn) listeningTime(ctx context.Context, host, id string, waiting time.Duration) (time.Duration, error) {
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

// unreachable is the error for a host agent that cannot be asked. A report can contain an error with
// the same code, if the host agent itself could not reach something. Only the error of Ask itself has
// the type unreachable.
type unreachable struct {
	because *coleo.Error
	sent    bool // whether the host agent received the order before it ended
}

// Error returns a message that says that the host agent cannot be asked.
func (u unreachable) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error, which contains the code.
func (u unreachable) Unwrap() error { return u.because }

// unanswered is the error for an order that was sent, but whose report did not arrive. The host
// agent may have carried out the order, or may still do so.
type unanswered struct{ because *coleo.Error }

// Error returns a message that says that the report did not arrive.
func (u unanswered) Error() string { return u.because.Message }

// Unwrap returns the coleo.Error, which contains the code.
func (u unanswered) Unwrap() error { return u.because }

// IsUnanswered reports whether err means that nobody knows whether the order was carried out. Any
// other error is the host agent's own report, or means that no host agent received the order.
func IsUnanswered(err error) bool {
	var gone unreachable
	return errors.As(err, new(unanswered)) || errors.As(err, &gone) && gone.sent
}

// IsUnreachable reports whether err means that no host agent listens.
func IsUnreachable(err error) bool { return errors.As(err, new(unreachable)) }

// Serve starts to listen for the orders to a host, and then returns. Until ctx ends, it passes each
// order to a function in a new goroutine, and sends the function's result as the report of the
// order.
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
	return c.confirm()
}

// answer sends the report of an order. If this fails, for example because the report is too large,
// answer sends an error instead, which says that the order was carried out.
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
		_ = msg.Respond(payload) // ignore the error, because Unsent has already reported why the report was not sent
	}
}
