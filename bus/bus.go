package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"coleo.dev"
)

// Conn is a connection to the bus. It reconnects by itself until it is closed,
// or until the server refuses its key.
type Conn struct {
	// Unsent is told of each answer to a command that could not be sent, and why.
	// It may be nil. It is set before Serve.
	Unsent func(op Op, err error)

	nc   *nats.Conn
	lost chan struct{} // room for one: the connection has broken
	back chan struct{} // room for one: it stands again
	over chan struct{} // closed when it will not be tried again

	leases leases // of the commands that are carried out here
}

// DefaultTimeout bounds a command whose context has no deadline.
const DefaultTimeout = 30 * time.Second

// maxWait bounds how long a host agent works on one command. The longest is a
// prompt of 1 MiB, which is what serve takes at most: package brain gives it 90 s,
// and 6 s for each 1,000 bytes.
const maxWait = 2 * time.Hour

// Dial connects a host agent to the bus behind the unix socket at path. name
// says who it is, to the server's log. Errors: EUnavailable when nobody listens
// there, when the key is not the server's, or when another user listens.
func Dial(path string, key Key, name string) (*Conn, error) {
	c, err := dial(key, name, nats.SetCustomDialer(socketDialer{path}), nats.SkipHostLookup(), nats.CustomInboxPrefix(hostInbox))
	if err != nil {
		return nil, coleo.Errorf(coleo.EUnavailable, "connect to the bus at %s: %w", path, err)
	}
	return c, nil
}

// placeholderURL stands where the NATS client wants an address. Nothing dials
// it: the connection is made by other means.
const placeholderURL = "nats://bus.invalid"

func dial(key Key, name string, way ...nats.Option) (*Conn, error) {
	c := &Conn{lost: make(chan struct{}, 1), back: make(chan struct{}, 1), over: make(chan struct{})}
	options := append([]nats.Option{
		nats.Name(name), key.sign(), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { tell(c.lost) }),
		nats.ReconnectHandler(func(*nats.Conn) { tell(c.back) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.over) }),
	}, way...)
	var err error
	c.nc, err = nats.Connect(placeholderURL, options...)
	return c, err
}

// reconnectWait is between two tries to reach a bus that has gone.
const reconnectWait = 250 * time.Millisecond

// tell leaves a word where there is room for one.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Lost receives when the connection has broken; Connected tells whether it
// stands again.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Back receives when the connection stands again. Whoever is at the other end
// may be new and know nothing of this one.
func (c *Conn) Back() <-chan struct{} { return c.back }

// Over is closed when the connection has ended for good: Close was called, or
// the server has refused the key twice.
func (c *Conn) Over() <-chan struct{} { return c.over }

// Connected tells whether the connection stands now.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// Close ends the connection after what was published has been sent.
func (c *Conn) Close() {
	_ = c.nc.FlushTimeout(time.Second)
	c.nc.Close()
}

// order and report are what goes over the bus.
type order struct {
	ID      string          `json:"id,omitempty"` // of the command; of opAlive: the command that is renewed
	Op      Op              `json:"op"`
	Data    json.RawMessage `json:"data,omitempty"`
	Timeout time.Duration   `json:"timeout"`              // to work on it, from when it arrives
	End     time.Duration   `json:"end_at,omitempty"`     // of that time, on package boottime's clock
	Waiting time.Duration   `json:"waiting_to,omitempty"` // up to when the sender is sure to wait, on that clock
}

type report struct {
	Error *coleo.Error    `json:"error,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// token makes a host's id fit for a subject.
func token(id string) string {
	return strings.NewReplacer(".", "_", " ", "_", "*", "_", ">", "_").Replace(id)
}

func commandSubject(host string) string { return "coleo.host." + token(host) + ".command" }

const (
	everyCommand = "coleo.host.*.command"
	everyClaim   = "coleo.host.*.claim"
	hostInbox    = "coleo.inbox" // answers to host agents; those to serve are elsewhere

	beatSubject = "coleo.beat"
	grewSubject = "coleo.grew"
	rollSubject = "coleo.roll"
)

// Beat publishes a host agent's sign of life.
func (c *Conn) Beat(b Beat) error { return c.publish(beatSubject, b) }

// Beats calls take for each beat until ctx ends. RollCall asks for one at once.
func (c *Conn) Beats(ctx context.Context, take func(Beat)) error {
	return subscribe(ctx, c, beatSubject, take)
}

// RollCall asks every host agent to beat now.
func (c *Conn) RollCall() error { return c.publish(rollSubject, struct{}{}) }

// RollCalls calls beat for each roll call until ctx ends.
func (c *Conn) RollCalls(ctx context.Context, beat func()) error {
	return subscribe(ctx, c, rollSubject, func(struct{}) { beat() })
}

// Grown says that a host's log has grown.
type Grown struct {
	Host  string `json:"host"`
	Epoch string `json:"epoch"`
	Head  uint64 `json:"head"`
}

// Grew publishes that a host's log has grown.
func (c *Conn) Grew(g Grown) error { return c.publish(grewSubject, g) }

// Growth calls take whenever a host's log has grown, until ctx ends.
func (c *Conn) Growth(ctx context.Context, take func(Grown)) error {
	return subscribe(ctx, c, grewSubject, take)
}

func (c *Conn) publish(subject string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.nc.Publish(subject, data)
}

func subscribe[T any](ctx context.Context, c *Conn, subject string, take func(T)) error {
	sub, err := c.nc.Subscribe(subject, func(msg *nats.Msg) {
		var v T
		if json.Unmarshal(msg.Data, &v) == nil {
			take(v)
		}
	})
	if err != nil {
		return fmt.Errorf("listen on %s: %w", subject, err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return c.nc.Flush()
}
