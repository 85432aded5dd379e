package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/config"
	"coleo.dev/wholefile"
)

// anyPort is an address that makes the system pick a free port.
const anyPort = "127.0.0.1:0"

// listenTCP opens the TCP listener of the API. If the user has set an address, listenTCP uses only
// that address. Otherwise it uses the first of the following addresses whose port is free, and
// stores it for the next run:
//   - the address of the last run
//   - the default address
//   - an address with any free port
func listenTCP(s setup.Setup) (net.Listener, error) {
	if s.Serve.Addr != "" {
		l, err := net.Listen("tcp", s.Serve.Addr)
		if err != nil {
			return nil, coleo.Errorf(coleo.EConflict, "the API cannot listen on %s (%v): give another --addr%s",
				s.Serve.Addr, err, signOutAll(s, err))
		}
		return l, nil
	}
	var failed error
	for _, addr := range []string{keptAddr(s), config.DefaultAddr, anyPort} {
		if addr == "" {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return l, keepAddr(s, l.Addr().String())
		}
		failed = errors.Join(failed, fmt.Errorf("%w%s", err, signOutAll(s, err)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, coleo.Errorf(coleo.EConflict, "the API cannot listen: %v",
		strings.ReplaceAll(failed.Error(), "\n", "; "))
}

// keptAddr returns the address that an earlier run has stored, or "" if no address is stored.
func keptAddr(s setup.Setup) string {
	raw, err := os.ReadFile(s.Port())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// keepAddr stores an address for the next run. It does not store the default address, because serve
// tries that address anyway.
func keepAddr(s setup.Setup, addr string) error {
	if addr == config.DefaultAddr || addr == keptAddr(s) {
		return nil
	}
	return wholefile.Replace(s.Port(), []byte(addr+"\n"), wholefile.OwnerOnly)
}

// movedNote returns a note for the user if another program has the default port, so that serve uses
// a different one. Otherwise movedNote returns "".
func movedNote(s setup.Setup) string {
	at, err := os.ReadFile(s.Socket() + ".addr")
	addr := strings.TrimSpace(string(at))
	if err != nil || s.Serve.Addr != "" || addr == config.DefaultAddr {
		return ""
	}
	return fmt.Sprintf(
		"note: another program had %s, so the dashboard is at %s, from now on; "+
			"'addr' below [serve] in config.toml names another\n", config.DefaultAddr, addr)
}
