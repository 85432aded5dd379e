package recovery

import (
	"math/rand/v2"
	"testing"

	"coleo.dev"
)

// TestEveryCombinationIsDecidedSafely tries every combination of these values of the evidence. They decide
// whether Coleo reattaches to an arm, kills it, or refuses.
var (
	proofs    = []Proof{"", Proven, Unproven, Silent, Gone}
	processes = []Process{"", Alive, Stopped, Unknown, Dead}
	sweeps    = []Sweep{"", SweptClean, SweptLeft}
	healths   = []coleo.Health{coleo.HealthActive, coleo.HealthHung, coleo.HealthRecoverable}
	statuses  = []coleo.Status{coleo.StatusBusy, coleo.StatusError, coleo.StatusStopped}
	finders   = []string{"", "h1", "h2", "h9", LocalHost}
	fleets    = [][]coleo.HostInfo{nil, {live("h1", "box", 0)}, {live("h2", "box", 10), live("h3", "other", 2)},
		{live("h1", "box", 3), {Host: coleo.Host{ID: "h2"}, Live: true},
			{Host: coleo.Host{ID: "h9", Capabilities: []string{"cli"}}}}}
	both = []bool{false, true}
)

func TestEveryCombinationIsDecidedSafely(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	for _, proof := range proofs {
		for _, process := range processes {
			for _, sweep := range sweeps {
				for _, state := range append(coleo.States(), "") {
					for _, health := range healths {
						for _, status := range statuses {
							for _, finder := range finders {
								e := Evidence{Health: health, Found: Finding{Host: finder, Proof: proof,
									Process: process, State: state, Sweep: sweep}}
								e.Arm.Status = status
								n += decideAll(t, r, e)
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}

// decideAll decides about one finding, once for each combination of the live hosts, the settings and the kind
// of harness. It draws the other facts about the arm and its harness at random, because there are too many
// combinations of them.
func decideAll(t *testing.T, r *rand.Rand, e Evidence) int {
	t.Helper()
	n := 0
	for _, fleet := range fleets {
		for _, managed := range both {
			for _, fallback := range both {
				for _, remote := range both {
					e.Hosts, e.AllowLocalFallback, e.RemoteOnly = fleet, fallback, remote
					e.Harness = Harness{Name: "cli", DaemonManaged: managed, Resumes: r.IntN(2) == 0}
					draw(r, &e)
					judge(t, e, Decide(e))
					n++
				}
			}
		}
	}
	return n
}

func draw(r *rand.Rand, e *Evidence) {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	e.Arm.Desired = coleo.Desired(pick("running", "running", "running", "stopped"))
	e.Arm.Workdir, e.Arm.Conversation = pick("", "/w"), pick("", "c")
	e.Arm.AgentID, e.Arm.Hostname, e.Preferred = pick("", "h1", "h9"), pick("", "box"), pick("", "h1", "h2", "h9")
	e.Arm.Ended, e.Force = r.IntN(3) == 0, r.IntN(3) == 0
	e.Arm.Forgotten = r.IntN(4) == 0
	e.Arm.HasHandle, e.Found.ServerOnly = r.IntN(3) > 0, r.IntN(4) == 0
}

func judge(t *testing.T, e Evidence, r Remedy) {
	t.Helper()
	is := func(ok bool, rule string) {
		if !ok {
			t.Errorf("%s:\nevidence %+v\nremedy %+v", rule, e, r)
		}
	}
	alive := map[string]bool{LocalHost: true}
	drives := map[string]bool{}
	for _, h := range e.Hosts {
		alive[h.ID], drives[h.ID] = h.Live, h.Live && h.Drives(e.Harness.Name)
	}
	proven := e.Found.Proof == Proven && alive[e.Found.Host]
	hung := e.Health == coleo.HealthHung &&
		(e.Found.State == "" || e.Found.State.Working() || e.Found.State == coleo.Initializing)

	is(r.Reason != "", "every remedy has a reason")
	is(r == Decide(e), "the same evidence gives the same remedy")
	switch r.Action {
	case Reattach:
		is(proven && e.Found.Process == Alive && !hung, "only a proven, running session that is not hung is reattached")
		is(e.Found.State != coleo.Dead && e.Found.State != coleo.Failed, "a session that has failed is not reattached")
		is(r.Host == e.Found.Host && !r.Sweep && !r.Resume, "it is reattached where it is")
		is((r.Mode == coleo.RecoveryRecovered) == e.Found.ServerOnly, "the mode says how it was found")
	case KillAndRestart:
		is(proven, "what failed the proof is not killed")
		is(r.Host == e.Found.Host && r.Sweep, "it is killed where it is, and swept")
	case Restart, RestartResuming:
		is(!proven || e.Found.Process == Dead, "nothing is started beside a session that is proven to run")
		is(e.Found.Sweep != SweptLeft, "nothing is started beside what a sweep has left")
		is(r.Sweep || e.Found.Sweep == SweptClean, "nothing is started without a sweep")
		is(r.Resume == (r.Action == RestartResuming), "the action says whether it resumes")
	case Refuse, Nothing:
		is(r.Mode == "" && r.Host == "" && !r.Resume, "a remedy that does nothing does nothing")
	default:
		is(false, "every action is one of the six")
	}
	looked := e.Found.Proof != "" && (e.Found.Proof != Proven || proven)
	is(!r.Starts() || looked || !e.Arm.HasHandle || e.Arm.Ended || e.Force,
		"nothing is started while its last start may still run where nobody can look")
	is(!r.Starts() || r.Mode == coleo.RecoveryRestarted, "a new process is called restarted")
	is(!r.Starts() || drives[r.Host] || r.Host == LocalHost,
		"only a live host agent that can drive the harness starts it")
	local := !e.RemoteOnly && (!e.Harness.DaemonManaged || e.AllowLocalFallback)
	is(!r.Starts() || r.Host != LocalHost || local, "it is started here only where the policy allows that")
	is(!r.Resume || (e.Harness.Resumes && e.Arm.Conversation != "" && !e.Arm.Forgotten),
		"only a conversation that there is is taken up")
	is((r.Action == Nothing) == (e.Arm.Desired == coleo.DesiredStopped), "an arm that shall run is not left alone")
}
