package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/cmd/coleo/revive"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/sqlite"
)

// reboot imitates a reboot. It kills every process of the world, and replaces the boot id in every
// record of a process.
func (w *world) reboot() {
	w.t.Helper()
	until(w.t, "no process is left", func() bool {
		left := w.processes()
		for _, p := range left {
			killPID(p.pid)
		}
		return len(left) == 0
	})
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	w.check(err)
	now, before := strings.TrimSpace(string(raw)), "00000000-0000-4000-8000-000000000000"
	db, err := sqlite.Open(w.path("state/host.db"), "")
	w.check(err)
	defer db.Close()
	if _, err = db.Exec("UPDATE arms SET handle = replace(handle, ?, ?)", now, before); err != nil {
		w.t.Fatal(err)
	}
	w.check(filepath.WalkDir(w.path("state"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(path, ".json") && !strings.HasSuffix(path, ".pid") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), now) {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(string(text), now, before)), 0o600)
		}
		return err
	}))
}

// revived runs up --revive, and returns the report and the outcome for each arm.
func (w *world) revived() (revive.Report, map[string]revive.Outcome) {
	w.t.Helper()
	out := decode[struct{ Revived revive.Report }](w, "up", "--revive").Revived
	steps := map[string]revive.Outcome{}
	for _, o := range out.Arms {
		steps[o.Arm] = o
	}
	return out, steps
}

// generations returns how often each arm was started.
func (w *world) generations(names ...string) []int {
	w.t.Helper()
	var out []int
	for _, name := range names {
		out = append(out, w.arm(name).Generation)
	}
	return out
}

func TestAfterARebootTheArmsThatRanAreTakenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, name := range []string{"idle", "busy", "ended", "left"} {
		w.spawnFake(name)
	}
	w.must("arm", "prompt", "busy", "hold 60s")
	w.must("arm", "kill", "ended")
	w.must("arm", "prompt", "left", "exit 0") // the agent CLI ends by itself, as after /exit
	w.wait("left", coleo.Dead)
	w.reboot()
	w.must("up")
	until(t, "the reboot is noticed", func() bool { return w.arm("idle").Rule == coleo.RuleReboot })
	report, steps := w.revived()
	if len(steps) != 2 || steps["idle"].Step != revive.Anew || steps["busy"].Step != revive.Anew || report.Stopped != 2 {
		t.Errorf("it has done %+v, want idle and busy taken up", report)
	}
	for _, name := range []string{"idle", "busy"} {
		w.wait(name, coleo.Idle)
		if n := len(w.events(name, coleo.EventSpawned)); n != 2 {
			t.Errorf("arm %s was started %d times, want twice", name, n)
		}
	}
	for name, rule := range map[string]string{"left": coleo.RuleProcess} {
		if a := w.arm(name); a.Status != coleo.StatusStopped || a.Rule != rule {
			t.Errorf("arm %s is %s (%s), want it to stay stopped (%s)", name, a.Status, a.Rule, rule)
		}
	}
	before := w.generations("idle", "busy", "ended", "left")
	if again, _ := w.revived(); len(again.Arms) != 0 || again.Stopped != 2 {
		t.Errorf("the second time it has done %+v, want nothing", again)
	}
	if now := w.generations("idle", "busy", "ended", "left"); !slices.Equal(now, before) {
		t.Errorf("the starts of the arms are %v, before %v", now, before)
	}
	if text := w.must("up", "--revive"); !strings.Contains(text, "No arm needs to be recovered.") ||
		!strings.Contains(text, "Already stopped before, and left so: 2 arms") {
		t.Errorf("it says\n%s", text)
	}
}

// TestAKillWhileArmsAreTakenUpStartsNothingTwice: `up --revive` recovers six arms. When it has
// started the first one, the test kills `up`, serve or the host agent. The next `up --revive` must
// recover the other arms, and start none twice.
func TestAKillWhileArmsAreTakenUpStartsNothingTwice(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"up", "serve", "agent"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			var names []string
			for i := range 6 {
				names = append(names, fmt.Sprint("a", i))
				w.spawnFake(names[i])
			}
			w.reboot()
			w.must("up")
			until(t, "the reboot is noticed", func() bool { return w.arm("a5").Rule == coleo.RuleReboot })
			cmd := w.command("up", "--revive")
			w.check(cmd.Start())
			until(t, "one arm was started", func() bool { return len(w.processesOf("hold")) > 0 })
			for _, pid := range w.processesOf(victim) {
				w.kill9(pid)
			}
			_ = cmd.Wait() // `up` may have failed, or may have finished before the kill
			w.revived()
			for _, name := range names {
				w.wait(name, coleo.Idle)
				// A killed host agent may have started the arm without recording the start. The next host agent
				// then attaches to the arm, or starts it once more if nothing is running.
				n := len(w.events(name, coleo.EventSpawned))
				if n != 2 && (victim != "agent" || n < 1 || n > 3) {
					t.Errorf("arm %s was started %d times, want twice", name, n)
				}
			}
			if n := len(w.processesOf("hold")); n != len(names) {
				t.Errorf("%d arms run, want %d", n, len(names))
			}
			if again, _ := w.revived(); len(again.Arms) != 0 {
				t.Errorf("afterwards it has done %+v, want nothing", again)
			}
		})
	}
}

// A shutdown can end the holders before the host agent, which then records that the arms have
// ended. After the reboot, these arms must be recovered all the same, because no person and no
// agent CLI ended them.
func TestHoldersThatAShutdownEndsFirstAreNoEndOfTheirArms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	names := []string{"one", "two"}
	for _, name := range names {
		w.spawnFake(name)
	}
	for _, pid := range w.processesOf("hold") {
		w.kill9(pid)
	}
	for _, name := range names {
		if w.wait(name, coleo.Dead); w.arm(name).Rule != coleo.RuleHolderGone {
			t.Errorf("arm %s ended by rule %s, want %s", name, w.arm(name).Rule, coleo.RuleHolderGone)
		}
	}
	w.reboot()
	if report, steps := w.revived(); len(steps) != len(names) || report.Stopped != 0 {
		t.Errorf("it has done %+v, want both arms taken up", report)
	}
	for _, name := range names {
		w.wait(name, coleo.Idle)
	}
}

// TestAnExpiredLoginIsOneItem: all arms of one account need the same login. The report must mention
// this login once.
func TestAnExpiredLoginIsOneItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[arms]\nmax_arms = 100\n")
	spec := w.read("config/harnesses/fake.toml")
	w.write("config/harnesses/fake.toml", strings.Replace(spec, `kind = "permission"`, `kind = "login"`, 1))
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("a%02d", i))
		w.spawnFake(names[i])
	}
	w.reboot()
	for _, name := range names {
		w.write("work-"+name+"/"+fakeScript, `{"start":["dialog log in"]}`)
	}
	report, steps := w.revived()
	if len(report.Logins) != 1 || len(report.Logins[0].Arms) != len(names) || report.Logins[0].Harness != "fake" {
		for _, name := range names {
			t.Logf("arm %s: %s by rule %s, %v", name, w.arm(name).State, w.arm(name).Rule, steps[name])
		}
		t.Fatalf("it says %+v, want one login for %d arms", report.Logins, len(names))
	}
	asks := report.Logins[0].Arms[0]
	if w.arm(asks).State != coleo.WaitingApproval || steps[asks].Step != revive.Anew {
		t.Errorf("arm %s is %s, want it to ask for the login", asks, w.arm(asks).State)
	}
	if n := len(w.processesOf("hold")); n != 1 {
		t.Errorf("%d arms were started, want one", n)
	}
	text := w.must("up", "--revive")
	if strings.Count(text, "Login needed") != 1 || !strings.Contains(text, "20 arms") || len(w.processesOf("hold")) != 1 {
		t.Errorf("with the login missing it says\n%s", text)
	}
	for _, name := range names { // the logins become valid
		w.write("work-"+name+"/"+fakeScript, "{}")
	}
	w.must("arm", "approve", asks)
	w.wait(asks, coleo.Idle)
	if report, _ = w.revived(); len(report.Arms) != len(names)-1 || len(report.Logins) != 0 {
		t.Errorf("after the login it has done %+v, want the other arms taken up", report)
	}
	for _, name := range names {
		w.wait(name, coleo.Idle)
		if f := (&fake{world: w, name: name, workdir: w.path("work-" + name)}); len(f.texts(fakeagent.Prompted)) > 0 {
			t.Errorf("arm %s was prompted", name)
		}
	}
}

// TestAnOrderlyShutdownIsNoEndOfAnArm: a shutdown sends SIGTERM to agent CLIs and holders, in any
// order, while the host agent still runs. The test ends arms in this way.
//
// After the reboot, these arms must be recovered, but an arm that ended by itself must stay
// stopped. Without a reboot, nothing may be recovered.
func TestAnOrderlyShutdownIsNoEndOfAnArm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	names := []string{"holder", "agent", "both", "mad", "left"}
	for _, name := range names {
		w.spawnFake(name)
	}
	handle := func(name string) (h coleo.Handle) {
		w.check(json.Unmarshal(w.events(name, coleo.EventSpawned)[0].Payload, &h))
		return h
	}
	term := func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != syscall.ESRCH { // a holder ends after its agent CLI
			w.check(err)
		}
	}
	w.must("arm", "prompt", "left", "exit 0") // this agent CLI ends by itself before the shutdown
	w.wait("left", coleo.Dead)
	term(handle("holder").Holder.PID)
	term(handle("agent").Process.PID)
	term(handle("both").Process.PID)
	term(handle("both").Holder.PID)
	w.must("arm", "prompt", "mad", "exit 143") // this agent CLI exits by itself with the code of a SIGTERM
	for _, name := range names[:4] {
		w.wait(name, coleo.Dead)
		if a := w.arm(name); a.Rule != coleo.RuleTerminated {
			t.Errorf("arm %s is %s (%s)", name, a.State, a.Rule)
		}
	}
	if report, _ := w.revived(); len(report.Arms) != 0 {
		t.Errorf("without a reboot it has done %+v", report)
	}
	w.reboot()
	report, steps := w.revived() // called at once, before serve's rows show the reboot
	for _, name := range names[:4] {
		if steps[name].Step != revive.Anew {
			t.Errorf("arm %s: %+v", name, steps[name])
		}
	}
	if len(steps) != 4 || report.Stopped != 1 || w.arm("left").Rule != coleo.RuleProcess {
		t.Errorf("it has done %+v, and left is %s", report, w.arm("left").Rule)
	}
}
