package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coleo.dev/holder/process"
	"coleo.dev/sandbox/container"
	"coleo.dev/sandbox/inside"
	"coleo.dev/sandbox/proxy"
)

// TestMain makes the test binary also act as the Coleo program that a box needs, and as the program
// that tries to escape.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) > 2 && args[0] == inside.StartVerb:
		fmt.Fprintln(os.Stderr, inside.Start(args[1:]))
	case len(args) > 2 && args[0] == inside.EnterVerb:
		fmt.Fprintln(os.Stderr, inside.Enter(args[1:]))
	case len(args) > 2 && args[0] == inside.ProxyVerb:
		if err := inside.Proxy(args[1:]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case len(args) > 2 && args[0] == container.StartVerb:
		fmt.Fprintln(os.Stderr, container.Start(args[1:]))
	case len(args) > 1 && args[0] == container.InitVerb:
		fmt.Fprintln(os.Stderr, container.Init(args[1:]))
	case len(args) > 0 && args[0] == escapeVerb:
		os.Exit(escape())
	default:
		process.CloseDescriptorsOnExec() // a holder does the same before it starts an agent CLI
		code := m.Run()
		_ = os.RemoveAll(holderDir)
		os.Exit(code)
	}
	os.Exit(1)
}

// nobody is the user id with which these tests run as an ordinary user, if root has started them.
const nobody = 65534

// needBwrap skips a test if no sandbox can be made here. If COLEO_REQUIRE demands a sandbox, the test fails
// instead.
func needBwrap(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bwrap")
	if err == nil {
		err = Probe(t.Context(), []string{filepath.Dir(path)}, os.Args[0])
	}
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("COLEO_REQUIRE"), ","), "bwrap") {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}

// outside contains the parts of the machine that a program in a box tries to reach.
type outside struct {
	dir, home, work, secret, victim string
	uid                             int
	socket, loopback                net.Listener
	abstract                        net.Listener
	sleeper                         *exec.Cmd
	connected                       chan string   // receives a text when somebody connects to one of the sockets
	rules                           *proxy.Rules  // what the box may reach through a proxy; nil without a proxy
	servers                         serversAround // with rules: the servers that the box tries to reach
}

// newOutside prepares the machine around a box of the user uid.
func newOutside(t *testing.T, uid int) *outside {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "coleo-escape-") // not in /tmp, because a box has its own /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := &outside{dir: dir, home: filepath.Join(dir, "home"), work: filepath.Join(dir, "home/src/work"), uid: uid,
		connected: make(chan string, 10)}
	o.secret, o.victim = filepath.Join(o.home, ".ssh/key"), filepath.Join(dir, "victim")
	write(t, o.secret, "secret")
	write(t, o.victim, "untouched")
	write(t, filepath.Join(o.home, ".mine/login"), "login")
	write(t, filepath.Join(o.work, "file"), "mine")
	o.socket = o.listen(t, "unix", filepath.Join(dir, "serve.sock"))
	o.abstract = o.listen(t, "unix", "@coleo-escape-"+filepath.Base(dir))
	o.loopback = o.listen(t, "tcp", "127.0.0.1:0")
	o.sleeper = exec.Command("/bin/sleep", "600")
	o.sleeper.SysProcAttr = o.asUser()
	if err := o.sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.sleeper.Process.Kill(); _ = o.sleeper.Wait() })
	err = filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *outside) listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			o.connected <- addr
			_ = conn.Close()
		}
	}()
	return l
}

// asUser returns the attributes with which a process runs as the user of this machine.
func (o *outside) asUser() *syscall.SysProcAttr {
	if o.uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.uid), NoSetGroups: true}}
}

// run runs the escape program in a box. It returns the result of each way.
func (o *outside) run(t *testing.T, bwrap string, change func(argv []string) []string) map[string]string {
	t.Helper()
	program := o.program(t)
	system, hidden := System()
	box := Box{Workdir: o.work, Home: o.home, System: system, Hidden: hidden, Offline: true,
		Writable: []Place{{Path: o.work}, {Path: filepath.Join(o.home, ".mine")}}}
	if o.rules != nil {
		box.Offline, box.Network = false, o.networkFile(t)
	}
	argv := box.Argv(Programs{Bwrap: bwrap, Coleo: program})
	if change != nil {
		argv = change(argv)
	}
	return o.escape(t, append(argv, program, escapeVerb), []string{"PATH=/usr/bin:/bin", "HOME=" + o.home})
}

// program returns the path of a copy of the test binary that every user can run.
func (o *outside) program(t *testing.T) string {
	t.Helper()
	program := filepath.Join(o.dir, "program")
	// Another process makes the copy. Otherwise a child of this process could still have the copy
	// open for writing, and then it could not be started.
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

// networkFile writes the rules of the box's proxy to a file, and returns the file's path.
func (o *outside) networkFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(o.dir, "network.json")
	c := proxy.Config{Rules: *o.rules, Log: filepath.Join(o.dir, "network.jsonl")}
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(path, o.uid, o.uid); err != nil {
		t.Fatal(err)
	}
	return path
}

// escape runs the given command line, which tries to escape. It returns the result of each way.
func (o *outside) escape(t *testing.T, argv, env []string) map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.SysProcAttr, cmd.Env = o.asUser(), env
	target, err := json.Marshal(target{Secret: o.secret, Victim: o.victim, Socket: o.socket.Addr().String(),
		Abstract: o.abstract.Addr().String(), Loopback: o.loopback.Addr().String(), PID: o.sleeper.Process.Pid,
		Own: filepath.Join(o.home, ".mine/login"), Servers: o.servers})
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(target), &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var managed map[string]string
	if err := json.Unmarshal(out.Bytes(), &managed); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return managed
}

// TestNothingGetsOutOfABox runs a program that tries each way to escape, as root and as an ordinary
// user. The program's results and the observations outside must agree that nothing succeeded.
func TestNothingGetsOutOfABox(t *testing.T) {
	t.Parallel()
	bwrap := needBwrap(t)
	users := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		users = append(users, nobody)
	}
	for _, uid := range users {
		t.Run("as user "+strconv.Itoa(uid), func(t *testing.T) {
			t.Parallel()
			o := newOutside(t, uid)
			for way, how := range o.run(t, bwrap, nil) {
				if !strings.HasPrefix(how, refused) {
					t.Errorf("%s: %s", way, how)
				}
			}
			o.check(t)
		})
	}
}

// check compares the machine with its state before the test.
func (o *outside) check(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{o.victim: "untouched", o.secret: "secret",
		filepath.Join(o.work, "file"): "mine, changed inside", filepath.Join(o.home,
			".mine/login"): "login, changed inside"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", path, got, err, want)
		}
	}
	if err := o.sleeper.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process outside: %v", err)
	}
	select {
	case where := <-o.connected:
		t.Errorf("the program has reached %s", where)
	default:
	}
	entries, err := os.ReadDir(o.home)
	if err != nil || len(entries) != 3 { // the expected entries are .mine, .ssh and src
		t.Errorf("HOME has %v, %v", entries, err)
	}
}

// TestTheWaysLeadOutOfABrokenBox removes one protection after another. Each time, at least one way
// must succeed, which proves that the way is a real attack.
func TestTheWaysLeadOutOfABrokenBox(t *testing.T) {
	t.Parallel()
	bwrap := needBwrap(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can show all of them")
	}
	without := func(words ...string) func([]string) []string {
		return func(argv []string) []string {
			at := strings.Index("\x00"+strings.Join(argv, "\x00")+"\x00", "\x00"+strings.Join(words, "\x00")+"\x00")
			if at < 0 {
				t.Errorf("the command line lacks %v", words)
				return argv
			}
			n := strings.Count(("\x00" + strings.Join(argv, "\x00"))[:at], "\x00")
			return slices.Delete(argv, n, n+len(words))
		}
	}
	unfiltered := func(argv []string) []string { return argv[:len(argv)-3] } // a command line without EnterVerb
	list := map[string]struct {
		change func([]string) []string
		ways   []string
	}{
		"with the processes of the machine": {without("--unshare-pid"), []string{"signal a process", "see a process"}},
		"with the network of the machine": {without("--unshare-net"),
			[]string{"reach an abstract socket", "reach loopback"}},
		"with capabilities and without the filter": {func(argv []string) []string {
			return unfiltered(without("--cap-drop", "ALL")(argv))
		}, []string{"remount the system", "have capabilities"}},
		"without the filter": {unfiltered, []string{"read the kernel's keys", "make a user namespace",
			"trace the first process", "write the memory of the first process"}},
		"with a kernel whose settings can be written": {without("--remount-ro", "/proc"),
			[]string{"write a setting of the kernel"}},
		// A command line without StartVerb.
		"with devices of the machine": {func(argv []string) []string { return argv[3:] },
			[]string{"change the mode of a device"}},
	}
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			managed := newOutside(t, 0).run(t, bwrap, c.change)
			for _, way := range c.ways {
				if how, tried := managed[way]; !tried || strings.HasPrefix(how, refused) {
					t.Errorf("%s: %q; want that it leads out", way, how)
				}
			}
		})
	}
}

// The terminal sends a signal to the whole process group. The program that makes the box must survive such a
// signal, because only the program in the box decides what the signal does.
func TestASignalForTheGroupReachesTheProgramAlone(t *testing.T) {
	t.Parallel()
	bwrap := needBwrap(t)
	o := newOutside(t, os.Geteuid())
	system, _ := System()
	box := Box{Workdir: o.work, Home: o.home, System: system, Writable: []Place{{Path: o.work}}}
	script := `trap 'echo hup; exit 7' HUP; trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done`
	argv := append(box.Argv(Programs{Bwrap: bwrap, Coleo: os.Args[0]}), "/bin/sh", "-c", script)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stuck.Stop()
	for _, c := range []struct {
		line   string
		signal syscall.Signal
	}{{"ready\n", syscall.SIGTERM}, {"term\n", syscall.SIGHUP}, {"hup\n", 0}} {
		line := make([]byte, len(c.line))
		if _, err := io.ReadFull(out, line); err != nil || string(line) != c.line {
			t.Fatalf("%q, %v; want %q", line, err, c.line)
		}
		_ = syscall.Kill(-cmd.Process.Pid, c.signal)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("the box ends with %d; want the exit code of the program, 7", code)
	}
}
