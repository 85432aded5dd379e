package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"coleo.dev"
	"coleo.dev/localsocket"
)

// Conn is a connection to the bus. If the connection breaks, Conn connects again, until Conn is
// closed or the server refuses its key.
type Conn struct {
	// Unsent is called with the reason if the report of an order could not be sent. It can be nil,
	// and must be set before Serve is called.
	Unsent func(op Op, err error)

	nc   *nats.Conn
	lost chan struct{} // receives a value when the connection breaks
	back chan struct{} // receives a value when the connection works again
	over chan struct{} // closed when the connection has ended for good

	// the orders that this process is carrying out, each with the time until which its sender waits
	senders waitingSenders
}

// DefaultTimeout is the time limit of an order if the caller's context has no deadline.
const DefaultTimeout = 30 * time.Second

// maxWait is the longest time for which a host agent works on one order. The order that takes longest
// is a prompt of 1 MiB, the largest prompt that serve accepts: see timelimit.Prompt.
const maxWait = 2 * time.Hour

// Dial connects a host agent to the bus at the unix socket path. The server's log shows
// the connection under the given name. Dial returns EUnavailable if nobody listens at
// the socket, if another user listens there, or if the server refuses the key.
func Dial(path string, key Key, name string) (*Conn, error) {
	c, err := dial(key, name, nats.SetCustomDialer(socketDialer{path}), nats.SkipHostLookup(),
		nats.CustomInboxPrefix(hostInbox))
	if err != nil {
		return nil, coleo.Errorf(coleo.EUnavailable, "connect to the bus at %s: %w", path, err)
	}
	return c, nil
}

// socketDialer connects a NATS client to the unix socket path. It ignores the address that the NATS
// client passes to it.
type socketDialer struct{ path string }

// Dial connects to the unix socket. It ignores its arguments.
func (d socketDialer) Dial(string, string) (net.Conn, error) { return localsocket.Dial(d.path) }

// DialInProcess connects this process to the bus whose server runs in this process. Only package
// busserver calls it.
func DialInProcess(server nats.InProcessConnProvider, key Key, name string) (*Conn, error) {
	return dial(key, name, nats.InProcessServer(server))
}

// placeholderURL is an address for the NATS client, which requires one. Nothing connects to it,
// because each connection has its own dialer.
const placeholderURL = "nats://bus.invalid"

func dial(key Key, name string, way ...nats.Option) (*Conn, error) {
	c := &Conn{lost: make(chan struct{}, 1), back: make(chan struct{}, 1), over: make(chan struct{})}
	options := append([]nats.Option{
		nats.Name(name), key.sign(), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.SyncQueueLen(mostClaims),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { sendOnce(c.lost) }),
		nats.ReconnectHandler(func(*nats.Conn) { sendOnce(c.back) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.over) }),
	}, way...)
	var err error
	c.nc, err = nats.Connect(placeholderURL, options...)
	return c, err
}

// reconnectWait is the time between two attempts to reconnect.
const reconnectWait = 250 * time.Millisecond

// sendOnce sends a value on c, unless c already contains a value.
func sendOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Lost returns a channel that receives a value when the connection breaks. When the caller reads
// the value, the connection may already be up again, so the caller must check Connected.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Back returns a channel that receives a value when the connection is up again. The process at the
// other end may be a new process that knows nothing about this process.
func (c *Conn) Back() <-chan struct{} { return c.back }

// Over returns a channel that is closed when the connection has ended for good. This happens after
// Close, or after the server has refused the key twice.
func (c *Conn) Over() <-chan struct{} { return c.over }

// Connected reports whether the connection is up now.
func (c *Conn) Connected() bool { return c.nc.IsConnected() }

// Close sends the published messages that are still waiting, for at most one second. Then it ends
// the connection.
func (c *Conn) Close() {
	_ = c.nc.FlushTimeout(time.Second)
	c.nc.Close()
}

// order is the message that carries an order over the bus.
type order struct {
	// the id of the order; in a message with opAlive, the id of the order that the sender still
	// waits for
	ID   string          `json:"id,omitempty"`
	Op   Op              `json:"op"`
	Data json.RawMessage `json:"data,omitempty"`
	// how long the host agent may work on the order, from the arrival of the order
	Timeout time.Duration `json:"timeout"`
	// the time when Timeout ends, on the clock of package boottime
	End time.Duration `json:"end_at,omitempty"`
	// the time until which the sender will certainly wait, on the clock of package boottime
	Waiting time.Duration `json:"waiting_to,omitempty"`
}

type report struct {
	Error *coleo.Error    `json:"error,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// token returns the id of a host in a form that a NATS subject can contain.
func token(id string) string {
	return strings.NewReplacer(".", "_", " ", "_", "*", "_", ">", "_").Replace(id)
}

func commandSubject(host string) string { return "coleo.host." + token(host) + ".command" }

const (
	everyCommand = "coleo.host.*.command"
	everyClaim   = "coleo.host.*.claim"
	hostInbox    = "coleo.inbox" // the inbox for replies to host agents; replies to serve use another inbox

	beatSubject = "coleo.beat"
	grewSubject = "coleo.grew"
	rollSubject = "coleo.roll"
)

// Beat publishes a beat, the host agent's sign of life. It does not wait for the delivery.
func (c *Conn) Beat(b Beat) error { return c.publish(beatSubject, b) }

// Beats starts to listen for the beats of host agents, and then returns. Until ctx ends, it calls
// `take` with each beat. To get a beat of every host agent at once, call RollCall.
func (c *Conn) Beats(ctx context.Context, take func(Beat)) error {
	return subscribe(ctx, c, beatSubject, take)
}

// RollCall asks every host agent to send a beat now.
func (c *Conn) RollCall() error { return c.publish(rollSubject, struct{}{}) }

// RollCalls starts to listen for roll calls, which RollCall sends, and then returns. Until ctx ends,
// it calls `sendBeat` for each roll call.
func (c *Conn) RollCalls(ctx context.Context, sendBeat func()) error {
	return subscribe(ctx, c, rollSubject, func(struct{}) { sendBeat() })
}

// Grown is the message that the log of a host has new events.
type Grown struct {
	Host  string `json:"host"`
	Epoch string `json:"epoch"`
	Head  uint64 `json:"head"`
}

// Grew publishes the message that the log of a host has new events. It does not wait for the
// delivery.
func (c *Conn) Grew(g Grown) error { return c.publish(grewSubject, g) }

// Growth starts to listen for Grown messages, and then returns. Until ctx ends, it calls take with
// each message.
func (c *Conn) Growth(ctx context.Context, take func(Grown)) error {
	return subscribe(ctx, c, grewSubject, take)
}

// Rights says what a client may do on the bus. Publish and Subscribe are lists of NATS subjects.
type Rights struct {
	Publish, Subscribe []string
	ReplyTime          time.Duration // for how long the client may reply to a message after it has received it
}

// HostRights returns the rights of a host agent. A host agent can receive orders and reply to them.
// It can publish beats, requests for claims, and news about its log.
func HostRights() Rights {
	return Rights{
		Publish:   []string{beatSubject, grewSubject, everyClaim},
		Subscribe: []string{everyCommand, rollSubject, everyClaim, hostInbox + ".>"},
		ReplyTime: maxWait,
	}
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
	return c.confirm()
}

// confirm waits until the server has the subscriptions of this connection. If the connection breaks
// in the meantime, confirm returns nil, because the NATS client subscribes again when the connection is
// up. It returns an error if the connection has ended for good.
func (c *Conn) confirm() error {
	if err := c.nc.Flush(); err != nil && c.nc.IsClosed() {
		return err
	}
	return nil
}
