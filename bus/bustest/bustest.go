// Package bustest provides a real bus for tests.
package bustest

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev/bus"
	"coleo.dev/bus/busserver"
)

// Bus is a bus for one test. It is shut down when the test ends.
type Bus struct {
	t      testing.TB
	server *busserver.Server
	path   string
	key    bus.Key
}

// New starts a bus on a unix socket in a new folder.
func New(t testing.TB) *Bus {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	key, err := bus.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	b := &Bus{t: t, path: filepath.Join(dir, "bus.sock"), key: key}
	if b.server, err = busserver.Listen(b.path, key, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.server.Close)
	return b
}

// Serve returns a connection that can give orders, like serve's connection. It breaks when the test
// ends, unless the test closes it first.
func (b *Bus) Serve() *bus.Conn {
	b.t.Helper()
	conn, err := b.server.Dial("serve")
	if err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// Path returns the path of the bus's unix socket.
func (b *Bus) Path() string { return b.path }

// Host returns a connection with the rights of a host agent. It breaks when the test ends, unless the
// test closes it first.
func (b *Bus) Host() *bus.Conn { return b.HostBy(b.path) }

// HostBy does the same as Host, but connects over another socket that leads to the bus.
func (b *Bus) HostBy(path string) *bus.Conn {
	b.t.Helper()
	conn, err := bus.Dial(path, b.key, "host agent")
	if err != nil {
		b.t.Fatal(err)
	}
	return conn
}
