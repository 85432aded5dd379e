package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"coleo.dev"
)

// breaking dials a bus. While armed is true, the next connection that sends a PING breaks instead, and
// armed becomes false.
type breaking struct {
	dialer socketDialer
	armed  atomic.Bool
}

func (b *breaking) Dial(network, address string) (net.Conn, error) {
	conn, err := b.dialer.Dial(network, address)
	return breakingConn{conn, b}, err
}

type breakingConn struct {
	net.Conn
	of *breaking
}

func (c breakingConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("PING")) && c.of.armed.CompareAndSwap(true, false) {
		return 0, errors.Join(errors.New("the connection breaks"), c.Close())
	}
	return c.Conn.Write(p)
}

// The connection breaks while a host agent begins to listen, as when serve is killed at this moment.
// The host agent must not end. It must listen when the connection is up again.
func TestABreakWhileAHostAgentBeginsToListenIsNoError(t *testing.T) {
	t.Parallel()
	listen := map[string]func(c *Conn) error{
		"for orders": func(c *Conn) error {
			return c.Serve(t.Context(), "h", func(context.Context, Op, json.RawMessage) (any, error) {
				return struct{}{}, nil
			})
		},
		"for claims":     func(c *Conn) error { return c.Claims(t.Context(), "h", func() Claim { return Claim{} }) },
		"for roll calls": func(c *Conn) error { return c.RollCalls(t.Context(), func() {}) },
	}
	for what, begin := range listen {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path, key := socket(t), newKey(t)
			s, err := Listen(path, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			serve, err := s.Dial("serve")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(serve.Close)
			way := &breaking{dialer: socketDialer{path}}
			host, err := dial(key, "host", nats.SetCustomDialer(way), nats.SkipHostLookup(), nats.CustomInboxPrefix(hostInbox))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(host.Close)
			way.armed.Store(true)
			if err := begin(host); err != nil {
				t.Fatalf("it begins to listen: %v", err)
			}
			if way.armed.Load() {
				t.Fatal("the connection did not break")
			}
			if what != "for orders" {
				return
			}
			const pause = 20 * time.Millisecond // between two attempts
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(pause) {
				if err = serve.Ask(t.Context(), "h", OpList, nil, nil); coleo.ErrorCode(err) != coleo.EUnavailable {
					break
				}
			}
			if err != nil {
				t.Errorf("after the break: %v", err)
			}
		})
	}
}
