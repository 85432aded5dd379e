package bus

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/boottime"
	"coleo.dev/timelimit"
)

// waitingSenders contains the orders that this process is carrying out. For each order, it contains
// the time until which the sender will certainly wait, on the clock of package boottime. The zero
// value is ready for use.
type waitingSenders struct {
	mu   sync.Mutex
	ends map[string]time.Duration
}

// add adds an order whose sender will certainly wait until `end`. The returned function removes the order.
func (w *waitingSenders) add(id string, end time.Duration) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends == nil {
		w.ends = map[string]time.Duration{}
	}
	w.ends[id] = end
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.ends, id)
	}
}

// renew stores a new time until which the sender of an order will certainly wait. It ignores a time
// that is earlier than the stored time, because renewals can arrive out of order.
func (w *waitingSenders) renew(id string, end time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now, ok := w.ends[id]; ok && end > now {
		w.ends[id] = end
	}
}

// until returns the time until which the sender of an order will certainly wait.
func (w *waitingSenders) until(id string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ends[id]
}

// carryOut carries out an order while the order's sender waits for the report. If the sender no
// longer waits when the order arrives, carryOut refuses the order. The sender and the host agent
// run on the same machine, so their clocks agree.
func (c *Conn) carryOut(ctx context.Context, o order,
	handle func(context.Context, Op, json.RawMessage) (any, error)) report {
	if o.Waiting != 0 { // a sender of an older version does not set Waiting
		defer c.senders.add(o.ID, o.Waiting)()
		ctx = timelimit.With(ctx, func() time.Duration { return boottime.Until(c.senders.until(o.ID)) })
	}
	if o.End != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, boottime.Until(o.End))
		defer cancel()
	}
	if timelimit.Check(ctx) != nil {
		return report{Error: coleo.Errorf(coleo.ETimeout,
			"the deadline of the order to %s had passed when it arrived: nothing was done", o.Op)}
	}
	return carryOut(ctx, o, handle)
}

func carryOut(ctx context.Context, o order, handle func(context.Context, Op, json.RawMessage) (any, error)) report {
	ctx, cancel := context.WithTimeout(ctx, min(o.Timeout, maxWait))
	defer cancel()
	out, err := handle(ctx, o.Op, o.Data)
	if err != nil {
		return report{Error: asError(err)}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return report{Error: coleo.Errorf(coleo.EInternal, "encode the report of %s: %v", o.Op, err)}
	}
	return report{Data: data}
}

func asError(err error) *coleo.Error {
	var e *coleo.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return coleo.Errorf(coleo.ETimeout, "the host agent's time for it was up: %v", err)
	}
	return coleo.Errorf(coleo.EInternal, "%v", err)
}
