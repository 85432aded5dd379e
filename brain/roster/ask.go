package roster

import (
	"context"
	"time"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// Ask sends a command to a host agent, or to host local (serve itself). If the host agent is known to be away, Ask
// sends nothing and returns EUnavailable. Otherwise it returns the errors of bus.Conn.Ask.
func (r *Roster) Ask(ctx context.Context, host string, op bus.Op, limit time.Duration, in, out any) error {
	if err := r.Prepare(ctx, host); err != nil {
		return err
	}
	if why := r.Away(host); why != "" && !IsLocal(host) {
		return commands.NotSent(coleo.Errorf(coleo.EUnavailable,
			"nothing was done: %q cannot reach the arm, because %s", op, why))
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.Bus.Ask(limited, host, op, in, out)
	if bus.IsUnreachable(err) {
		r.MarkAway(ctx, host, notConnected(host))
	}
	return err
}
