package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"coleo.dev/conformance/stranger"
)

// playSquatter listens at the socket args[0] in serve's place. It greets each caller as a NATS
// server does, and sends the caller an order. At the end of each connection, it prints how many
// bytes the caller sent.
func playSquatter(args []string) int {
	_ = os.Remove(args[0])
	l, err := net.Listen("unix", args[0])
	if err == nil {
		err = os.Chmod(args[0], 0o777)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		_, _ = io.WriteString(conn, `INFO {"server_id":"x","version":"2.10.0","nonce":"chosen","max_payload":1048576}`+
			"\r\n"+"MSG coleo.host.any.command 1 reply 13\r\n"+`{"op":"list"}`+"\r\n")
		got, _ := io.ReadAll(conn)
		fmt.Println("bytes:", len(got))
		conn.Close()
	}
}

func TestOnlyTheAPIHasAPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	want := strings.TrimSpace(w.read("state/serve.sock.addr"))
	for _, verb := range []string{"serve", "agent"} {
		for _, addr := range listening(t, w.onlyProcess(verb)) {
			if verb != "serve" || addr != want {
				t.Errorf("coleo %s listens on %s", verb, addr)
			}
		}
	}
	if got := listening(t, w.onlyProcess("serve")); len(got) != 1 {
		t.Errorf("serve listens on %v, want %s alone", got, want)
	}
}

// listening returns the IPv4 and IPv6 addresses at which a process listens.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[string]bool{}
	for _, fd := range fds {
		to, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		sockets[to] = true
	}
	var out []string
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		raw, err := os.ReadFile(filepath.Join(proc, table))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range strings.Split(string(raw), "\n")[1:] {
			const listen = "0A"
			f := strings.Fields(row)
			if len(f) < 10 || f[3] != listen || !sockets["socket:["+f[9]+"]"] {
				continue
			}
			ip, port, _ := strings.Cut(f[1], ":")
			n, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			if ip == "0100007F" {
				ip = "127.0.0.1"
			}
			out = append(out, fmt.Sprintf("%s:%d", ip, n))
		}
	}
	return out
}

// While serve is down, another user listens in place of the bus, in a state folder that is open to
// everybody. The host agent must send nothing to this false bus, and must not carry out its orders.
// Later it must find the right bus again.
func TestAnotherUserInThePlaceOfTheBusHearsNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.kill9(f.onlyProcess("serve"))
	f.check(os.Chmod(f.dir, 0o755))
	f.check(os.Chmod(f.path("state"), 0o777))
	squatter, out := stranger.Start(t, "squatter", f.path("state/bus.sock"))
	printed := bufio.NewScanner(out)
	for _, want := range []string{"listening", "bytes: 0", "bytes: 0", "bytes: 0"} {
		if !printed.Scan() || printed.Text() != want {
			t.Fatalf("the squatter printed %q (%v), want %q", printed.Text(), printed.Err(), want)
		}
	}
	f.check(squatter.Process.Kill())
	f.must("up")
	info, err := os.Stat(f.path("state"))
	f.check(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("up left the state folder open to others: %v", info.Mode())
	}
	f.checkAnswer("after-the-squatter")
}

func TestAWrongFlagOfAHostAgentIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, c := range []struct{ flag, value, words string }{
		{"--nats-url", "nats://127.0.0.1:4222", "not supported yet"},
		{"--max-arms", "-1", "--max-arms -1 is less than 0: no host agent was started"},
	} {
		if r := w.run("agent", "start", c.flag, c.value); r.code != 2 ||
			strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, c.words) {
			t.Errorf("%v\nwant exit 2 and one line", r)
		}
	}
}
