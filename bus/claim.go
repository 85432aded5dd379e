package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"coleo.dev"
)

const (
	// claimTime bounds how long a host agent waits for its own claim to come back
	// over the bus, which takes about a millisecond.
	claimTime = 2 * time.Second
	// claimQuiet is how long it listens for others behind that: they got the
	// question at the same moment. Who is slower than this is heard next time.
	claimQuiet = 100 * time.Millisecond
)

// Claim is what a host agent says of itself to others with its id.
type Claim struct {
	Instance string        `json:"instance"` // random, of this run of the host agent
	Hostname string        `json:"hostname"`
	PID      int           `json:"pid"`
	Age      time.Duration `json:"age"` // how long it has had the id: by its own clock, which may be wrong otherwise
}

// before tells whether a claim goes before another one: the older one does.
func (c Claim) before(other Claim) bool {
	if c.Age != other.Age {
		return c.Age > other.Age
	}
	return c.Instance < other.Instance
}

func claimSubject(host string) string { return "coleo.host." + token(host) + ".claim" }

// Claims has others with this host's id get this claim, until ctx ends.
func (c *Conn) Claims(ctx context.Context, host string, mine func() Claim) error {
	sub, err := c.nc.Subscribe(claimSubject(host), func(msg *nats.Msg) {
		if payload, err := json.Marshal(mine()); err == nil {
			_ = msg.Respond(payload)
		}
	})
	if err != nil {
		return fmt.Errorf("listen for claims to the id %s: %w", host, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return c.nc.Flush()
}

// Contest asks whether another live host agent has this host's id. When one has
// had it for longer the error is EConflict and says which.
func (c *Conn) Contest(ctx context.Context, host string, mine Claim) error {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	inbox := c.nc.NewRespInbox()
	answers, err := c.nc.SubscribeSync(inbox)
	if err == nil {
		defer func() { _ = answers.Unsubscribe() }()
		err = c.nc.PublishRequest(claimSubject(host), inbox, nil)
	}
	for err == nil {
		var msg *nats.Msg
		if msg, err = answers.NextMsgWithContext(ctx); err != nil {
			break
		}
		var other Claim
		if json.Unmarshal(msg.Data, &other) != nil || other.Instance == "" {
			continue
		}
		if other.Instance == mine.Instance {
			var quiet context.CancelFunc
			ctx, quiet = context.WithTimeout(ctx, claimQuiet)
			defer quiet()
			continue
		}
		if other.before(mine) {
			return coleo.Errorf(coleo.EConflict, "another host agent (process %d on %s) has the id %s: end it, or give this one another id with 'coleo agent start --id'", other.PID, other.Hostname, host)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return fmt.Errorf("ask who has the id %s: %w", host, err)
}
