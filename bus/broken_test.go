package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/bus/bustest"
	"coleo.dev/localsocket"
)

// breaking connects to the bus at a path. If armed is true, the next attempt to send a PING breaks its
// connection, and sets armed to false.
type breaking struct {
	path  string
	armed atomic.Bool
}

func (b *breaking) dial() (net.Conn, error) {
	conn, err := localsocket.Dial(b.path)
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
	listen := map[string]func(c *bus.Conn) error{
		"for orders": func(c *bus.Conn) error {
			return c.Serve(t.Context(), "h", func(context.Context, bus.Op, json.RawMessage) (any, error) {
				return struct{}{}, nil
			})
		},
		"for claims": func(c *bus.Conn) error {
			return c.Claims(t.Context(), "h", func() bus.Claim { return bus.Claim{} })
		},
		"for roll calls": func(c *bus.Conn) error { return c.RollCalls(t.Context(), func() {}) },
	}
	for what, begin := range listen {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			testBus := bustest.New(t)
			serve, way := testBus.Serve(), &breaking{path: testBus.Path()}
			path := filepath.Join(filepath.Dir(testBus.Path()), "breaking.sock")
			if _, err := bustest.NewWire(path, way.dial); err != nil {
				t.Fatal(err)
			}
			host := testBus.HostBy(path)
			t.Cleanup(func() { serve.Close(); host.Close() })
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
			var err error
			for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(pause) {
				if err = serve.Ask(t.Context(), "h", bus.OpList, nil, nil); coleo.ErrorCode(err) != coleo.EUnavailable {
					break
				}
			}
			if err != nil {
				t.Errorf("after the break: %v", err)
			}
		})
	}
}
