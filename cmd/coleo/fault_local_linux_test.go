package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/wire"
)

// near adds a harness for the fake agent CLI that does not require a host agent.
func (w *world) near() {
	w.t.Helper()
	text := strings.NewReplacer(`name = "fake"`, `name = "near"`, "daemon_managed = true", "daemon_managed = false").
		Replace(w.read("config/harnesses/fake.toml"))
	w.write("config/harnesses/near.toml", text)
}

// hostAgent returns the id of the live host agent, or "" if there is none.
func (w *world) hostAgent() string {
	w.t.Helper()
	client, err := w.client()
	w.check(err)
	list, err := client.Hosts(w.t.Context())
	w.check(err)
	for _, h := range list {
		if h.ID == coleo.LocalHost {
			w.t.Errorf("host %s is listed as a host agent", h.ID)
		}
		if h.Live {
			return h.ID
		}
	}
	return ""
}

// loseHostAgent kills the host agent and waits until serve has noticed.
func (w *world) loseHostAgent() {
	w.t.Helper()
	w.kill9(w.onlyProcess("agent"))
	until(w.t, "serve knows that the host agent is gone", func() bool { return w.hostAgent() == "" })
}

// agentCLIs counts the agent CLIs that work in a folder.
func (w *world) agentCLIs(workdir string) int {
	n := 0
	for _, p := range w.processes() {
		if len(p.argv) > 1 && filepath.Base(p.argv[0]) == "fakeagent" && p.argv[1] == workdir {
			n++
		}
	}
	return n
}

// serveAlone starts serve without a host agent.
func (w *world) serveAlone() {
	w.t.Helper()
	cmd := w.command("serve")
	w.check(cmd.Start())
	go func() { _ = cmd.Wait() }()
	until(w.t, "serve answers", func() bool { return w.run("arm", "list").code == 0 })
}

// TestWhoDrivesAnArm tests the combinations of three conditions:
//   - The host agent is live, lost, or comes back.
//   - The harness requires a host agent, or does not.
//   - A start without a host agent is allowed, not allowed, or forbidden for all arms.
func TestWhoDrivesAnArm(t *testing.T) {
	t.Parallel()
	const (
		refused    = "No agent available for harness 'fake'. Start an arm agent daemon with 'coleo agent start'."
		remoteFake = "nothing was started: serve runs with COLEO_REMOTE_ARMS_ONLY, so harness 'fake' needs a host agent: " +
			"'coleo agent start' starts one"
		remoteNear = "nothing was started: serve runs with COLEO_REMOTE_ARMS_ONLY, so harness 'near' needs a host agent: " +
			"'coleo agent start' starts one"
	)
	yes := true
	for what, c := range map[string]struct {
		harness string
		allow   *bool
		env     string
		refusal string // the error of a start while the host agent is lost; "" means that serve drives the arm
	}{
		"daemon-managed, allowed":               {"fake", &yes, "", ""},
		"daemon-managed, allowed by default":    {"fake", nil, "COLEO_ALLOW_LOCAL_HARNESS_FALLBACK=1", ""},
		"daemon-managed, not allowed":           {"fake", nil, "", refused},
		"daemon-managed, forbidden for all":     {"fake", &yes, "COLEO_REMOTE_ARMS_ONLY=1", remoteFake},
		"not daemon-managed, allowed":           {"near", &yes, "", ""},
		"not daemon-managed, not allowed":       {"near", nil, "", ""},
		"not daemon-managed, forbidden for all": {"near", nil, "COLEO_REMOTE_ARMS_ONLY=1", remoteNear},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.near()
			w.env = append(w.env, c.env)
			w.must("up")
			client, err := w.client()
			w.check(err)
			agent := w.hostAgent()
			spawn := func(name string) (wire.SpawnReply, error) {
				return client.Spawn(t.Context(), wire.SpawnRequest{Name: name, Harness: c.harness,
					Workdir: w.workdir(name, fakeagent.Script{}), AllowLocalFallback: c.allow})
			}

			there, err := spawn("there")
			if err != nil || there.AgentID != agent || !there.Distributed || there.Warning != "" {
				t.Fatalf("with a host agent: driven by %q, warning %q, %v; want the host agent", there.AgentID,
					there.Warning, err)
			}
			w.wait("there", coleo.Idle)

			w.loseHostAgent()
			gone, err := spawn("gone")
			switch {
			case c.refusal == "" && (err != nil || gone.AgentID != coleo.LocalHost || gone.Distributed ||
				gone.Warning != "arm gone runs without a host agent: nobody reads it while serve is down; "+
					"the next host agent takes it up ('coleo up' starts one)"):
				t.Fatalf("without a host agent: %+v, %v; want serve itself, and a warning", gone, err)
			case c.refusal != "" && (coleo.ErrorCode(err) != coleo.EUnavailable || err.Error() != c.refusal):
				t.Fatalf("without a host agent: %v; want %q", err, c.refusal)
			}
			_, err = client.Recover(t.Context(), "there", wire.RecoverRequest{AllowLocalFallback: c.allow})
			if err == nil || !strings.Contains(err.Error(), agent) {
				t.Errorf("recover of an arm that the host agent has = %v; want a refusal that names it", err)
			}
			_, err = client.Recover(t.Context(), "there", wire.RecoverRequest{AllowLocalFallback: &yes, Force: true})
			if err == nil || w.agentCLIs(w.path("work-there")) != 1 {
				t.Errorf("a forced recover = %v, and %d agent CLIs run; want a refusal and one", err,
					w.agentCLIs(w.path("work-there")))
			}
			if c.refusal == "" {
				w.wait("gone", coleo.Idle)
				(&fake{world: w, name: "gone"}).checkAnswer("local")
			}

			w.must("up")
			until(t, "the host agent has its arm again", func() bool { return !w.arm("there").Runtime.Stale })
			(&fake{world: w, name: "there"}).checkAnswer("again")
			if c.refusal != "" {
				if n := w.agentCLIs(w.path("work-gone")); n != 0 {
					t.Errorf("%d agent CLIs run of an arm that was refused", n)
				}
				return
			}
			until(t, "the host agent takes the arm up", func() bool { return w.arm("gone").AgentID == agent })
			now := w.wait("gone", coleo.Idle)
			if now.PID != gone.PID || now.Generation != gone.Arm.Generation || now.Runtime.Local {
				t.Errorf("the arm is %+v, want process %d", now, gone.PID)
			}
			(&fake{world: w, name: "gone"}).checkAnswer("taken")
			if n := w.agentCLIs(w.path("work-gone")); n != 1 {
				t.Errorf("%d agent CLIs run, want one", n)
			}
		})
	}
}

// newLocal starts an arm without a host agent.
func newLocal(t *testing.T, name string) *fake {
	t.Helper()
	w := newWorld(t, "")
	dir := w.workdir(name, fakeagent.Script{})
	r := w.run("arm", "spawn", "-n", name, "-w", dir, "--harness", "fake", "--allow-local")
	if r.code != 0 || !strings.Contains(r.err, "coleo: note: arm "+name+" "+coleo.LocalNote) {
		t.Fatalf("%v\nwant a note that nobody reads it while serve is down", r)
	}
	if got := w.processesOf("agent"); len(got) != 0 {
		t.Fatalf("host agents %v were started", got)
	}
	arm := w.arm(name)
	return &fake{world: w, name: name, workdir: dir, pid: arm.PID}
}

func TestEverythingSaysThatAnArmHasNoHostAgent(t *testing.T) {
	t.Parallel()
	f := newLocal(t, "one")
	arm := f.arm("one")
	if arm.AgentID != coleo.LocalHost || !arm.Runtime.Local || arm.Runtime.Distributed ||
		!strings.HasSuffix(arm.Runtime.Reason, "it "+coleo.LocalNote) {
		t.Errorf("the arm is %+v", arm)
	}
	for _, args := range [][]string{{"arm", "status", "one"}, {"arm", "explain", "one"}} {
		if out := f.must(args...); !strings.Contains(out, coleo.LocalNote) {
			t.Errorf("coleo %v does not say that the arm %s:\n%s", args, coleo.LocalNote, out)
		}
	}
	if out := f.must("arm", "list"); !strings.Contains(out, "idle (no host agent)") {
		t.Errorf("arm list does not say that the arm has no host agent:\n%s", out)
	}
	if out := f.must("agent", "status"); !strings.Contains(out, "No host agents.") {
		t.Errorf("agent status lists a host agent:\n%s", out)
	}
	if e := f.fails(2, "arm", "spawn", "-n", "two", "-w", f.workdir, "--harness", "fake", "--allow-local", "--agent",
		coleo.LocalHost); !strings.Contains(e.Message, "is not a host agent") {
		t.Errorf("--agent local = %+v", e)
	}
	if r := f.run("agent", "start", "--id", coleo.LocalHost); r.code != 2 ||
		!strings.Contains(r.err, "this id means serve itself") {
		t.Errorf("a host agent with the id %s: %v", coleo.LocalHost, r)
	}
	out := f.must("down")
	if !strings.Contains(out, "without a host agent and still running: one; nobody reads them until 'coleo up'") {
		t.Errorf("down says:\n%s", out)
	}
	if !runs(f.pid) {
		t.Fatal("down has ended the arm")
	}
	f.serveAlone()
	f.wait("one", coleo.Idle)
	f.checkAnswer("still")
	if got := f.arm("one"); got.PID != f.pid || got.AgentID != coleo.LocalHost {
		t.Errorf("the arm is %+v, want process %d with serve itself", got, f.pid)
	}
	f.must("arm", "kill", "one")
	if got := f.arm("one"); got.Runtime.Local || strings.Contains(f.must("down"), "still running") {
		t.Errorf("an arm that has ended is said to run without a host agent: %+v", got)
	}
	f.serveAlone()
	r := f.run("arm", "recover", "one")
	if r.code == 0 || !strings.Contains(r.err, "Harness 'fake' requires the arm agent daemon.") {
		t.Errorf("a recover that allows nothing: %v", r)
	}
	if out := f.must("arm", "recover", "one", "--allow-local"); !strings.Contains(out, coleo.LocalNote) {
		t.Errorf("the recover does not say that the arm %s:\n%s", coleo.LocalNote, out)
	}
	f.checkAnswer("recovered")
}

// TestAnArmWithoutAHostAgentOutlivesServe kills serve during a turn of an arm that serve itself
// drives. The next serve must take over the arm. If a host agent starts together with the next
// serve, the host agent must take over the arm.
func TestAnArmWithoutAHostAgentOutlivesServe(t *testing.T) {
	t.Parallel()
	for what, next := range map[string]func(*fake){
		"the next serve": func(f *fake) { f.serveAlone() },
		"the next serve and a host agent": func(f *fake) {
			f.must("up")
			until(f.t, "the host agent takes the arm up", func() bool { return f.arm(f.name).AgentID == f.hostAgent() })
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newLocal(t, "one")
			words := strings.Repeat("word ", 40)
			r := decode[coleo.Receipt](f.world, "arm", "prompt", f.name, "slow "+words+"for 15s\nsay the-end")
			f.wait(f.name, coleo.Processing)
			f.kill9(f.onlyProcess("serve"))
			if !runs(f.pid) {
				t.Fatal("the arm has ended with serve")
			}
			next(f)
			if end := f.awaitRun(r.ID); !strings.Contains(end.Answer, "the-end") || end.Status != coleo.Idle {
				t.Errorf("the run ended with %+v", end)
			}
			f.checkAnswer("next") // this prompt can come before serve has taken over the arm
			if got := f.texts(fakeagent.Prompted); len(got) != 2 {
				t.Errorf("the agent CLI was prompted %q, want two prompts", got)
			}
			if ends, starts := f.events(f.name, coleo.EventRunEnd), f.events(f.name, coleo.EventRunStart); len(ends) != 2 ||
				len(starts) != 2 {
				t.Errorf("%d runs began and %d ended in the log, want 2", len(starts), len(ends))
			}
			if now := f.arm(f.name); now.PID != f.pid || f.agentCLIs(f.workdir) != 1 {
				t.Errorf("process %d of %d agent CLIs, want %d alone", now.PID, f.agentCLIs(f.workdir), f.pid)
			}
			f.must("up")
			until(t, "a host agent has the arm", func() bool { return f.arm(f.name).Runtime.Distributed })
			f.checkAnswer("last")
			if lost := f.events(f.name, coleo.EventPromptLost); len(lost) != 0 {
				t.Errorf("%d prompts are lost", len(lost))
			}
		})
	}
}

// TestAPromptReachesALocalArmWhileServeComesBack: serve was killed, and the next serve has not
// taken over its arm yet. A prompt that comes now must wait and then arrive.
func TestAPromptReachesALocalArmWhileServeComesBack(t *testing.T) {
	t.Parallel()
	f := newLocal(t, "one")
	for _, word := range []string{"first", "second", "third"} {
		f.kill9(f.onlyProcess("serve"))
		f.serveAlone()
		f.checkAnswer(word)
	}
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"say first", "say second", "say third"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}

// TestPromptsGoOnWhileAHostAgentTakesTheArmUp: while a host agent takes over an arm from serve, no
// prompt may be refused, lost or doubled.
func TestPromptsGoOnWhileAHostAgentTakesTheArmUp(t *testing.T) {
	t.Parallel()
	f := newLocal(t, "one")
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run("up")
	}()
	var want []string
	for i := 0; ; i++ {
		word := "word-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		want = append(want, "say "+word)
		f.checkAnswer(word)
		if f.arm("one").Runtime.Distributed {
			break
		}
		if i > 500 {
			t.Fatal("no host agent takes the arm up between prompts")
		}
	}
	<-done
	f.checkAnswer("end")
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, append(want, "say end")) {
		t.Errorf("the agent CLI was prompted %q, want %q", got, want)
	}
	if got := f.arm("one"); got.PID != f.pid || f.agentCLIs(f.workdir) != 1 {
		t.Errorf("process %d, want %d alone", got.PID, f.pid)
	}
}

// TestServeIsKilledWhileItMovesAnArm kills serve at several moments while it hands an arm with an
// open run to a host agent. Each time, the host agent must have the arm and its run afterwards.
func TestServeIsKilledWhileItMovesAnArm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const rounds = 6
	for round := range rounds {
		name := "arm-" + string(rune('a'+round))
		dir := w.workdir(name, fakeagent.Script{})
		w.must("arm", "spawn", "-n", name, "-w", dir, "--harness", "fake", "--allow-local")
		f := &fake{world: w, name: name, workdir: dir, pid: w.arm(name).PID}
		r := decode[coleo.Receipt](w, "arm", "prompt", name, "slow a b c d e f g h for 10s\nsay end-"+name)
		agent := w.command("agent", "start")
		w.check(agent.Start())
		go func() { _ = agent.Wait() }()
		if folder := "state/arms/" + w.arm(name).ID + "/arm.json"; round < rounds/2 {
			until(t, "the folder names the host agent",
				func() bool { return !strings.Contains(w.read(folder), `"host":"local"`) })
		} else {
			until(t, "the host agent is live", func() bool { return w.hostAgent() != "" })
		}
		time.Sleep(time.Duration(round%(rounds/2)) * 30 * time.Millisecond) // kills at a different moment in each round
		w.kill9(w.onlyProcess("serve"))
		w.must("up")
		if end := w.awaitRun(r.ID); end.Answer == "" || end.Status != coleo.Idle {
			t.Errorf("%s: the run ended with %+v", name, end)
		}
		until(t, "a host agent has the arm", func() bool {
			return w.arm(name).Runtime.Distributed &&
				!w.arm(name).Runtime.Stale
		})
		f.checkAnswer("next")
		if got := f.texts(fakeagent.Prompted); len(got) != 2 || w.agentCLIs(dir) != 1 || w.arm(name).PID != f.pid {
			t.Errorf("%s: prompted %q, %d agent CLIs, process %d; want two prompts and process %d alone", name, got,
				w.agentCLIs(dir), w.arm(name).PID, f.pid)
		}
		if ends := w.events(name, coleo.EventRunEnd); len(ends) != 2 || len(w.events(name, coleo.EventPromptLost)) != 0 {
			t.Errorf("%s: %d runs ended, %d prompts lost", name, len(ends), len(w.events(name, coleo.EventPromptLost)))
		}
		w.loseHostAgent()
	}
	w.must("up")
}

// TestALocalArmThatFreezesNeedsPermits: typing into an arm with --on-partition freeze needs a
// permit, which lasts 10 s. Serve needs a permit too if it drives the arm itself. A process that
// takes over the arm must wait until the former permits have expired.
func TestALocalArmThatFreezesNeedsPermits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := &fake{world: w, name: "one", workdir: w.workdir("one", fakeagent.Script{})}
	w.must("arm", "spawn", "-n", "one", "-w", f.workdir, "--harness", "fake", "--allow-local", "--on-partition", "freeze")
	f.checkAnswer("first")
	w.kill9(w.onlyProcess("serve"))
	w.serveAlone()
	f.checkAnswer("second")
	w.must("up")
	until(t, "a host agent has the arm", func() bool { return w.arm("one").Runtime.Distributed })
	f.checkAnswer("third")
	if got := f.texts(fakeagent.Prompted); !slices.Equal(got, []string{"say first", "say second", "say third"}) {
		t.Errorf("the agent CLI was prompted %q", got)
	}
}
