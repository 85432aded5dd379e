package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/bus/bustest"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/holder"
	"coleo.dev/wire"
)

// machineVerb makes the test binary the first process of a machine.
const machineVerb = "machine"

// machine is a second machine with a host agent of its own, for the same serve. Its processes are
// in their own process namespace, so that no other host agent sees or ends them. It reaches the bus
// through a connection that a test can cut.
type machine struct {
	*world        // the machine's own world, with its folder and its command lines
	main   *world // the world in which serve runs
	id     string // id of the machine's host agent
	init   *exec.Cmd
	pid    int // process of init
	orders io.WriteCloser
	agent  *exec.Cmd
	isCut  bool
	told   int // the pid that the last host agent reported to serve
}

// playMachine is process 1 of a machine. It also connects a socket in its folder to the bus in the
// folder args[0]. Lines on its standard input cut and mend this connection.
func playMachine(args []string) int {
	if args[0] == "keys" {
		return playKeys(args[1:])
	}
	if err := os.Chdir(args[0]); err != nil { // changes the folder, because the path of a socket must be short
		fmt.Println(err)
		return 1
	}
	wire, err := bustest.NewWire(args[1], func() (net.Conn, error) { return net.Dial("unix", "bus.sock") })
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go reap()
	fmt.Println("up")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		wire.Set(in.Text() == "cut")
	}
	return 0
}

// playKeys types into an arm as the arm's host agent does. args[0] is the folder of the arm's
// holder, and args[1] is the holder's nonce. playKeys prints the code of the error, if any.
func playKeys(args []string) int {
	c, err := holder.Dial(args[0], args[1])
	if err == nil {
		_, err = c.Write(holder.Write{ID: args[2], Kind: holder.WriteKeys, Data: []byte("x")})
	}
	fmt.Print(coleo.ErrorCode(err))
	return 0
}

// reap collects all ended processes whose parent is now process 1.
func reap() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil {
			syscall.Pause()
		}
	}
}

// addMachine starts a machine with a host agent.
func (w *world) addMachine(id string) *machine {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("a machine needs a process namespace, which root alone can make here")
	}
	w.must("up")
	m := &machine{world: newFolder(w.t, "version = 1\n[arms]\nmax_arms = 100\nkeep_mib = 4"), main: w, id: id}
	w.t.Cleanup(m.end)
	m.check(os.Mkdir(m.path("state"), 0o700))
	m.write("state/bus.key", w.read("state/bus.key"))
	m.check(link(m.path("bin/coleo"), m.path("bin/"+machineVerb)))
	m.init = exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
		m.path("bin/"+machineVerb), w.path("state"), m.path("state/bus.sock"))
	m.prepare(m.init)
	var err error
	m.orders, err = m.init.StdinPipe()
	m.check(err)
	out, err := m.init.StdoutPipe()
	m.check(err)
	m.check(m.init.Start())
	answers := bufio.NewScanner(out)
	if !answers.Scan() || answers.Text() != "up" {
		w.t.Fatalf("the machine did not start: %q", answers.Text())
	}
	go func() {
		for answers.Scan() {
		}
	}()
	m.pid = m.childOf(m.init.Process.Pid)
	m.start()
	return m
}

// childOf returns the only child of a process.
func (m *machine) childOf(parent int) int {
	m.t.Helper()
	for _, p := range m.processes() {
		raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat"))
		_, rest, _ := strings.Cut(string(raw), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			return p.pid
		}
	}
	m.t.Fatalf("process %d has no child", parent)
	return 0
}

// inside returns a command that runs on this machine.
func (m *machine) inside(program string, args ...string) *exec.Cmd {
	args = append([]string{"--target", strconv.Itoa(m.pid), "--pid", "--mount", "--wd=" + m.dir,
		m.path("bin/" + program)}, args...)
	cmd := exec.Command("nsenter", args...)
	m.prepare(cmd)
	return cmd
}

// start starts the host agent, and waits until serve reports it as live.
func (m *machine) start() {
	m.t.Helper()
	m.agent = m.inside("coleo", "agent", "start", "--id", m.id)
	log, err := os.OpenFile(m.path("agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	m.check(err)
	defer log.Close()
	m.agent.Stdout, m.agent.Stderr = log, log
	m.check(m.agent.Start())
	former := m.told
	until(m.t, "serve hears host agent "+m.id, func() bool { return m.live() && m.told != former })
}

// live reports whether serve reports the host agent as live.
func (m *machine) live() bool {
	for _, h := range decode[[]coleo.HostInfo](m.main, "agent", "status") {
		if h.ID == m.id && h.Live {
			m.told = h.PID
			return true
		}
	}
	return false
}

// setCut cuts or mends the machine's connection to the bus.
func (m *machine) setCut(cut bool) {
	m.t.Helper()
	order := "mend\n"
	if cut {
		order = "cut\n"
	}
	m.isCut = cut
	_, err := io.WriteString(m.orders, order)
	m.check(err)
}

// signal sends a signal to the host agent.
func (m *machine) signal(s syscall.Signal) {
	m.t.Helper()
	m.check(syscall.Kill(m.onlyProcess("agent"), s))
}

// kill ends the host agent with SIGKILL. Its arms continue to run.
func (m *machine) kill() {
	m.t.Helper()
	m.kill9(m.onlyProcess("agent"))
	_ = m.agent.Process.Signal(syscall.SIGCONT) // nsenter has stopped if its child was stopped
	_ = m.agent.Wait()
}

// end ends the machine with all its processes.
func (m *machine) end() {
	if m.isCut {
		m.setCut(false)
	}
	if r := m.main.run("arm", "kill", "--host", m.id, "--all"); r.code != 0 {
		m.t.Error(r)
	}
	_ = m.init.Process.Kill()
	_ = m.init.Wait()
	for _, p := range m.processes() {
		killPID(p.pid)
	}
	if log := m.read("agent.log"); m.t.Failed() || strings.Contains(log, "DATA RACE") ||
		strings.Contains(log, "panic:") {
		m.t.Logf("log of host agent %s:\n%s", m.id, log)
	}
	_ = os.RemoveAll(m.dir)
}

// spawnFakeOn starts an arm with the fake agent CLI on the machine of the given host agent.
func (w *world) spawnFakeOn(name, agent string, more ...string) *fake {
	w.t.Helper()
	dir := w.workdir(name, fakeagent.Script{})
	args := append([]string{"arm", "spawn", "-n", name, "-w", dir, "--harness", "fake", "--agent", agent}, more...)
	reply := decode[wire.SpawnReply](w, args...)
	if reply.AgentID != agent || reply.Arm.State != coleo.Idle {
		w.t.Fatalf("the arm is %s on %s, want idle on %s", reply.Arm.State, reply.AgentID, agent)
	}
	return &fake{world: w, name: name, workdir: dir, pid: reply.PID}
}
