package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/sandbox/inside"
	"coleo.dev/sandbox/proxy"
)

// networkRecord returns the entries in the network records of all arms.
func (w *world) networkRecord() (out []proxy.Entry) {
	w.t.Helper()
	w.check(filepath.WalkDir(w.path("state/arms"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "network.jsonl" {
			return err
		}
		raw, err := os.ReadFile(path)
		for line := range strings.Lines(string(raw)) {
			var e proxy.Entry
			w.check(json.Unmarshal([]byte(line), &e))
			out = append(out, e)
		}
		return err
	}))
	return out
}

// TestM32ARealAgentCLIReachesItsModelAlone: the sandbox reaches only the model. The turn must end, and
// the record must show that the agent CLI's requests to other hosts were refused.
func TestM32ARealAgentCLIReachesItsModelAlone(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	for _, c := range toolCallers[:3] { // these harnesses declare what their agent CLIs need in a sandbox
		t.Run(c.harness, func(t *testing.T) {
			needAgent(t, c.harness, c.command)
			l := newLiveOf(t, c.harness, "--sandbox", "bwrap", "--sandbox-net", "model")
			for range 2 { // each start of the arm has a new proxy
				nonce := conformance.Nonce()
				l.must("arm", "prompt", l.name, "--wait", "say "+nonce)
				if arm := l.arm(l.name); arm.State != coleo.Idle {
					t.Fatalf("after the turn the arm is %+v", arm)
				}
				if !l.modelGot(nonce) {
					t.Errorf("the model did not get the prompt")
				}
				l.must("arm", "kill", l.name)
				l.must("arm", "spawn", "-n", l.name, "-w", l.workdir, "--recover")
			}
			reached := false
			for _, e := range l.networkRecord() {
				model := "http://"+net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) == l.network.url()
				reached = reached || model && e.Decision == proxy.Allowed
				if model != (e.Decision == proxy.Allowed || e.Decision == proxy.Closed) {
					t.Errorf("the record has %+v; want that only the model at %s is reached", e, l.network.url())
				}
			}
			if !reached {
				t.Error("the record does not have the model")
			}
		})
	}
}

// spawnFiltered starts an arm in a sandbox that reaches only the server at addr.
func (w *world) spawnFiltered(name, addr string, more ...string) *fake {
	return w.spawnBoxed(name, append([]string{"--sandbox-net", "model", "--endpoint", "http://" + addr}, more...)...)
}

// hasProxy reports whether the proxy of a sandbox is running.
func (w *world) hasProxy() bool {
	return slices.ContainsFunc(w.processes(), func(p worldProcess) bool {
		return slices.Contains(p.argv, inside.ProxyVerb)
	})
}

func TestTheNetworkOfASandboxStays(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.check(err)
	t.Cleanup(func() { _ = l.Close() })
	f := w.spawnFiltered("one", l.Addr().String())
	filtered := func(when string) {
		t.Helper()
		if f.netOf(f.agentPID()) == f.netOf(os.Getpid()) {
			t.Errorf("%s, the agent CLI has the network of the machine", when)
		}
		env, err := os.ReadFile("/proc/" + strconv.Itoa(f.agentPID()) + "/environ")
		w.check(err)
		at := slices.IndexFunc(strings.Split(string(env), "\x00"), func(kv string) bool {
			return strings.HasPrefix(kv, "HTTPS_PROXY=http://127.0.0.1:")
		})
		if at < 0 {
			t.Errorf("%s, the agent CLI knows no proxy", when)
		}
		if out := w.must("arm", "status", "one"); !strings.Contains(out, "bwrap (network: model)") {
			t.Errorf("%s, the status does not tell the network:\n%s", when, out)
		}
	}
	if filtered("after the start"); !f.hasProxy() {
		t.Error("no process of the arm is the proxy")
	}
	for _, verb := range []string{"serve", "agent"} {
		w.kill9(w.onlyProcess(verb))
	}
	w.must("up")
	w.must("arm", "prompt", "one", "--wait", "hello")
	filtered("after kills of serve and host agent")
	w.must("arm", "kill", "one")
	until(t, "the proxy has ended with its arm", func() bool { return !f.hasProxy() })
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir)
	filtered("after a new start")
	w.kill9(w.onlyProcess("hold")) // the holder's guard then ends the arm
	until(t, "the arm has ended", func() bool { return f.arm("one").State == coleo.Dead })
	until(t, "the proxy has ended with its holder", func() bool { return !f.hasProxy() })
	w.must("arm", "recover", "one")
	filtered("after a recovery")
}

func TestANetworkThatCannotBeHadIsRefused(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t, "")
	dir := w.workdir("one", fakeagent.Script{})
	for want, more := range map[string][]string{
		"nobody has said where its model is": {"--sandbox", "bwrap", "--sandbox-net", "model"},
		"add --sandbox bwrap":                {"--sandbox-net", "model"},
		"choose all, none, model or allow=":  {"--sandbox", "bwrap", "--sandbox-net", "models"},
		"is neither HOST nor HOST:PORT":      {"--sandbox", "bwrap", "--sandbox-net", "allow=a b"},
	} {
		r := w.run(append([]string{"arm", "spawn", "-n", "one", "--harness", "fake", "-w", dir}, more...)...)
		if r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%v = %v; want %q", more, r, want)
		}
	}
}
