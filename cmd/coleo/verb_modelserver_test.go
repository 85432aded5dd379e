package main

import (
	"net"
	"path/filepath"
	"testing"
)

func TestTheModelserverSaysWhichAddressIsTaken(t *testing.T) {
	t.Parallel()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for flag, l := range map[string]net.Listener{"--addr": port, "--control": socket} {
		out, errs, code := cli(t, "modelserver", flag, l.Addr().String())
		want := "coleo: the scripted model cannot listen on " + l.Addr().String() + ", which is taken: give another " + flag +
			", or none\n"
		if out != "" || errs != want || code != 5 {
			t.Errorf("%s = exit %d, %q%q, want exit 5 and %q", flag, code, out, errs, want)
		}
	}
}
