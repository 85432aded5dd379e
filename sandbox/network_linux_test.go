package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"coleo.dev/conformance/netns"
	"coleo.dev/sandbox/proxy"
)

// serversAround contains servers outside of a box. Each one answers everything with its own address.
type serversAround struct {
	Allowed  string // a public server that the box may reach through its proxy
	Other    string // a public server that the box must not reach
	Names    string // a public name server, over UDP
	Loopback string // a server on this machine that the box must not reach
	Model    string // a server on this machine whose port is forwarded into the box
}

// inOwnNetwork is an environment variable that is set if a test runs in its own network namespace.
const inOwnNetwork = "COLEO_TEST_OWN_NETWORK"

// ownNetwork runs the test again in a network namespace in which this machine has public addresses.
// It returns false in the first process.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inOwnNetwork) != "" {
		if err := netns.LoopbackUp(); err != nil {
			t.Fatal(err)
		}
		for i, addr := range []string{allowedAddr, otherAddr} {
			addAddress(t, fmt.Sprintf("lo:%d", i), addr)
		}
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), inOwnNetwork+"="+strconv.Itoa(os.Geteuid()))
	runtime.LockOSThread() // the new process would receive a signal if this thread ended
	defer runtime.UnlockOSThread()
	netns.Isolate(cmd)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// These are public addresses. In the tests' network namespace, they belong to this machine.
const allowedAddr, otherAddr = "93.184.216.34", "93.184.216.35"

func addAddress(t *testing.T, label, addr string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(label)
	if err == nil {
		err = r.SetInet4Addr(net.ParseIP(addr).To4())
	}
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, r)
	}
	if err != nil {
		t.Fatalf("give this machine the address %s: %v", addr, err)
	}
}

// newServers starts the servers around a box. A TCP server closes the connection after each answer.
func newServers(t *testing.T) serversAround {
	t.Helper()
	tcp := func(addr string) string {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, l.Addr().String()) }
		s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(answer)}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
		return l.Addr().String()
	}
	udp, err := net.ListenPacket("udp", allowedAddr+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(b[:n], from)
		}
	}()
	return serversAround{Allowed: tcp(allowedAddr + ":0"), Other: tcp(otherAddr + ":0"), Names: udp.LocalAddr().String(),
		Loopback: tcp("127.0.0.1:0"), Model: tcp("127.0.0.1:0")}
}

func ruleFor(t *testing.T, addr string) proxy.Rule {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	n, numberErr := strconv.ParseUint(port, 10, 16)
	if err = errors.Join(err, numberErr); err != nil {
		t.Fatal(err)
	}
	return proxy.Rule{Host: host, Port: uint16(n)}
}

// mustWork begins the name of a way that must succeed.
const mustWork = "must work: "

// waysToServers returns the ways from a box to the servers around it. It returns none if the box has
// no proxy.
func waysToServers(s serversAround) map[string]func() error {
	if s.Allowed == "" {
		return nil
	}
	out := map[string]func() error{
		"reach an allowed server directly": func() error { return answers(s.Allowed, nil, s.Allowed) },
		"reach another server directly":    func() error { return answers(s.Other, nil, s.Other) },
		"ask a name server":                func() error { return echoes(s.Names) },
		"reach a server of the machine":    func() error { return answers(s.Loopback, nil, s.Loopback) },
		"keep the socket of the proxy": func() error {
			_, err := unix.FcntlInt(100, unix.F_GETFD, 0)
			return err
		},
		mustWork + "the model": func() error { return answers(s.Model, nil, s.Model) },
	}
	_, port, _ := net.SplitHostPort(s.Loopback)
	for how, by := range map[string]func(addr, want string) error{"by a tunnel": byTunnel, "by a URL": byURL} {
		out[mustWork+"an allowed server "+how] = func() error { return by(s.Allowed, s.Allowed) }
		out["reach another server "+how] = func() error { return by(s.Other, s.Other) }
		for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "127.1",
			"2130706433", "127.0.0.2"} {
			out["reach a server of the machine as "+host+" "+how] = func() error { return by(host+":"+port, s.Loopback) }
		}
	}
	return out
}

// proxyConn connects to the proxy in the environment.
func proxyConn() (net.Conn, error) {
	u, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || u.Host == "" || os.Getenv("http_proxy") != u.String() {
		return nil, fmt.Errorf("the environment names no proxy: %q, %w", os.Environ(), err)
	}
	return net.DialTimeout("tcp", u.Host, 5*time.Second)
}

func byTunnel(addr, want string) error {
	conn, err := proxyConn()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "CONNECT "+addr+" HTTP/1.1\r\n\r\n")
	const established = "HTTP/1.1 200 Connection established\r\n\r\n"
	line, err := bufio.NewReader(io.LimitReader(conn, int64(len(established)))).ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		return fmt.Errorf("the proxy says %q, %w", line, err)
	}
	return answers(addr, conn, want)
}

func byURL(addr, want string) error {
	conn, err := proxyConn()
	if err != nil {
		return err
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET http://"+addr+"/ HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
	return readAnswer(conn, want)
}

// answers returns nil if a server answers with the text `want`, and otherwise an error. If conn is nil, answers
// connects to the server first.
func answers(addr string, conn net.Conn, want string) error {
	if conn == nil {
		var err error
		if conn, err = net.DialTimeout("tcp", addr, 5*time.Second); err != nil {
			return err
		}
		defer conn.Close()
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	return readAnswer(conn, want)
}

func readAnswer(conn net.Conn, want string) error {
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	all, err := io.ReadAll(conn)
	if !strings.HasSuffix(string(all), want) {
		return fmt.Errorf("the answer is %q, %w", all, err)
	}
	return nil
}

func echoes(addr string) error {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, "name?"); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 16))
	return err
}

// boxWithServers returns a box that may reach one public server and one server on this machine.
func boxWithServers(t *testing.T, uid int) *outside {
	t.Helper()
	o := newOutside(t, uid)
	o.servers = newServers(t)
	allowed, model := ruleFor(t, o.servers.Allowed), ruleFor(t, o.servers.Model)
	o.rules = &proxy.Rules{Allow: []proxy.Rule{allowed, model}, Forward: []proxy.Rule{model}}
	return o
}

// TestM32ABoxReachesOnlyItsHosts runs a program that tries each way to the servers, as root and as
// an ordinary user. Only the allowed ways may succeed.
func TestM32ABoxReachesOnlyItsHosts(t *testing.T) {
	bwrap := needBwrap(t)
	if !ownNetwork(t) {
		return
	}
	for _, uid := range ordinaryToo() {
		o := boxWithServers(t, uid)
		worked := 0
		for way, how := range o.run(t, bwrap, nil) {
			must := strings.HasPrefix(way, mustWork)
			if must != !strings.HasPrefix(how, refused) {
				t.Errorf("as user %d: %s: %s", uid, way, how)
			}
			if must {
				worked++
			}
		}
		if worked != 3 {
			t.Errorf("as user %d: %d servers were tried that must work; want 3", uid, worked)
		}
		o.check(t)
		o.checkLog(t)
	}
}

// checkLog checks that the log contains which servers were reached and which were refused.
func (o *outside) checkLog(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(o.dir, "network.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[proxy.Decision][]string{}
	for line := range strings.Lines(string(raw)) {
		var e proxy.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[e.Decision] = append(got[e.Decision], net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	allowed := slices.Compact(slices.Sorted(slices.Values(got[proxy.Allowed])))
	want := slices.Sorted(slices.Values([]string{o.servers.Allowed, o.servers.Model}))
	if !slices.Equal(allowed, want) {
		t.Errorf("the log says that %v were reached; want %v", allowed, want)
	}
	for _, addr := range []string{o.servers.Other, o.servers.Loopback} {
		if !slices.Contains(got[proxy.Refused], addr) {
			t.Errorf("the log does not say that %s was refused: %v", addr, got)
		}
	}
	if len(got[proxy.Failed]) > 0 {
		t.Errorf("the log has failures: %s", raw)
	}
}

// TestTheWaysToServersLeadOutOfABrokenBox gives the box a network. Each way to a server must then
// succeed, which proves that the way is a real attack.
func TestTheWaysToServersLeadOutOfABrokenBox(t *testing.T) {
	bwrap := needBwrap(t)
	if !ownNetwork(t) {
		return
	}
	open := boxWithServers(t, os.Geteuid())
	for way, how := range open.run(t, bwrap, func(argv []string) []string {
		open := slices.DeleteFunc(argv, func(word string) bool { return word == "--unshare-net" })
		for i, word := range open { // without listeners, because the model's port is in use in that network
			if word == "sandbox-enter" {
				return slices.Delete(open, i+1, i+2)
			}
		}
		return open
	}) {
		if (strings.HasSuffix(way, " directly") || way == "ask a name server" || way == "reach a server of the machine") &&
			strings.HasPrefix(how, refused) {
			t.Errorf("with the network of the machine: %s: %s", way, how)
		}
	}
	wide := boxWithServers(t, os.Geteuid())
	wide.rules.Allow = append(wide.rules.Allow, ruleFor(t, wide.servers.Other), ruleFor(t, wide.servers.Loopback))
	for way, how := range wide.run(t, bwrap, nil) {
		if (strings.HasPrefix(way, "reach another server by") || strings.Contains(way, "as 127.0.0.1 by")) &&
			strings.HasPrefix(how, refused) {
			t.Errorf("with wide rules: %s: %s", way, how)
		}
	}
}

// ordinaryToo returns the user ids with which a test in its own network runs: the id of this user, and for root
// also the id of an ordinary user.
func ordinaryToo() []int {
	out := []int{os.Geteuid()}
	if os.Getenv(inOwnNetwork) == "0" {
		out = append(out, nobody)
	}
	return out
}

// TestTheProxyEndsWithItsBox: when the program in the box has ended, its proxy must end too.
func TestTheProxyEndsWithItsBox(t *testing.T) {
	bwrap := needBwrap(t)
	o := newOutside(t, os.Geteuid())
	network := filepath.Join(o.dir, "network.json")
	if err := (proxy.Config{Log: filepath.Join(o.dir, "network.jsonl")}).Write(network); err != nil {
		t.Fatal(err)
	}
	system, _ := System()
	box := Box{Workdir: o.work, Home: o.home, System: system, Network: network, Writable: []Place{{Path: o.work}}}
	argv := append(box.Argv(Programs{Bwrap: bwrap, Coleo: os.Args[0]}), "/bin/cat")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	await(t, "the proxy runs", func() bool { pid = proxyBelow(cmd.Process.Pid); return pid > 0 })
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Errorf("the box ends with %v", err)
	}
	await(t, "the proxy ends with its box", func() bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n == 1
	})
}

// proxyBelow returns the proxy below the process pid, or 0.
func proxyBelow(pid int) int {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range list {
		raw, _ := os.ReadFile(path)
		for child := range strings.FieldsSeq(string(raw)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if strings.Contains(string(line), "\x00sandbox-proxy\x00") {
				n, _ := strconv.Atoi(child)
				return n
			}
		}
	}
	return 0
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is never so that %s", what)
		}
	}
}
