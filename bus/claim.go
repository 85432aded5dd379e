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
	// claimTime is how long Contest waits for its own claim to arrive over the bus. A claim normally
	// takes about a millisecond.
	claimTime = 2 * time.Second
	// claimQuiet is how long Contest waits for the claims of other host agents after its own claim has
	// arrived. All host agents with the same id receive the request for claims at the same moment.
	// Therefore their claims also arrive close together. The next call of Contest finds a claim that
	// arrives later.
	claimQuiet = 100 * time.Millisecond
	// mostClaims is how many claims can wait until Contest reads them. Each call of Contest makes a
	// queue of this length. The NATS library's default length would take half a megabyte.
	mostClaims = 1024
)

// Claim is the message with which a host agent claims an id. Contest asks for it, and every host
// agent with the id sends one.
type Claim struct {
	Instance string `json:"instance"` // a random value that identifies this run of the host agent
	Hostname string `json:"hostname"`
	PID      int    `json:"pid"`
	// Age is how long this run of the host agent has had the id. Claims are compared by this
	// duration and not by a time, because the clocks of machines can be wrong.
	Age time.Duration `json:"age"`
}

// winsAgainst reports whether the claim c wins against `other`. The claim with the higher Age wins. If the
// ages are equal, the claim with the lower Instance wins.
func (c Claim) winsAgainst(other Claim) bool {
	if c.Age != other.Age {
		return c.Age > other.Age
	}
	return c.Instance < other.Instance
}

func claimSubject(host string) string { return "coleo.host." + token(host) + ".claim" }

// Claims starts to listen for requests for claims to this host's id, which Contest sends, and then
// returns. Until ctx ends, it calls `mine` for each request, and replies with the claim that `mine`
// returns.
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
	return c.confirm()
}

// Contest checks whether another live host agent has the given id. If another host agent has had
// the id for longer, Contest returns an EConflict error that names this host agent. Contest takes
// at most 2 s.
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
		if other.winsAgainst(mine) {
			return coleo.Errorf(coleo.EConflict,
				"another host agent (process %d on %s) has the id %s: end it, "+
					"or give this one another id with 'coleo agent start --id'", other.PID, other.Hostname, host)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	return fmt.Errorf("ask who has the id %s: %w", host, err)
}
