// Package revive recovers arms after a reboot, as coleo arm recover does. It recovers the arms that
// ran before the reboot, but not those that a person had stopped.
package revive

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
	"coleo.dev/cmd/coleo/arm"
	"coleo.dev/wire"
)

const (
	// atOnce is the largest number of accounts that are handled at the same time. It is also the largest number of
	// arms that are started at the same time for one account. Even a small machine can start four agent CLIs at
	// the same time.
	atOnce = 4
	// readyTimeout is how long to wait until an arm accepts prompts. It is long because agent CLIs
	// start slowly right after a reboot.
	readyTimeout = 2 * time.Minute
	// settleTimeout is how long to wait until serve has read the log of each host agent. Only the log says which
	// arms the reboot has ended. A host agent logs these arms before it reports to serve, so that the log is then
	// complete.
	settleTimeout = 15 * time.Second
	// settlePause is the pause between two questions to serve about its host agents. Serve reads a
	// log within a few of these pauses.
	settlePause = 50 * time.Millisecond
)

// Step is what was done with an arm. Programs read it, so the meaning of a step must never change.
type Step string

// These are the steps.
const (
	Resumed    Step = "resumed"    // the arm was started again, and its conversation continues
	Anew       Step = "anew"       // the arm was started again with a new conversation
	Reattached Step = "reattached" // the arm was running already
	Waits      Step = "waits"      // the arm was not started, because its account first needs a login
	Failed     Step = "failed"     // the arm could not be recovered; Error contains the reason
)

// Outcome is the result for one arm.
type Outcome struct {
	Arm    string        `json:"arm"`
	Step   Step          `json:"step"`
	State  coleo.State   `json:"state,omitempty"`  // the arm's state after the start
	Parked *coleo.Parked `json:"parked,omitempty"` // why the arm is parked; nil if it is not parked
	Error  *coleo.Error  `json:"error,omitempty"`
	login  bool          // whether the arm shows a login dialog, or is parked because its login was refused
}

// Account identifies a login. Several arms can share it.
type Account struct {
	Harness  string `json:"harness"`
	Home     string `json:"home,omitempty"` // the HOME of the agent CLI; "" means the user's own HOME
	Endpoint string `json:"endpoint,omitempty"`
	Provider string `json:"provider,omitempty"`
}

// Login reports that a person must log in to an account. There is one Login per account, even if
// several arms use the account.
type Login struct {
	Account
	Arms []string `json:"arms"` // names of the arms that need the login; log in at the first one
}

// Report is the result of Run.
type Report struct {
	Arms    []Outcome `json:"arms"`
	Logins  []Login   `json:"logins"`
	Stopped int       `json:"stopped"` // how many arms were not running before the reboot, and stay stopped
	// Away contains the names of the arms whose state is unknown. The host agent of such an arm is not
	// live, or the process of serve has not yet read that host agent's log.
	Away []string `json:"away"`
}

// Run recovers every arm that ran before the reboot. It leaves running arms unchanged, so it can be
// repeated. If it returns an error, it has recovered no arm.
func Run(ctx context.Context, client *apiclient.Client, local bool) (Report, error) {
	r := Report{Arms: []Outcome{}, Logins: []Login{}, Away: []string{}}
	hosts, err := awaitStates(ctx, client)
	if err != nil {
		return r, err
	}
	arms, err := client.Arms(ctx, true)
	if err != nil {
		return r, err
	}
	groups, asking := map[Account][]coleo.Arm{}, map[Account]string{}
	for _, a := range arms {
		ran, err := ranBefore(ctx, client, a)
		switch {
		case err != nil:
			return r, err
		case !isLive(hosts, a):
			r.Away = append(r.Away, a.Name)
		case ran:
			groups[accountOf(a)] = append(groups[accountOf(a)], a)
		case a.Status == coleo.StatusStopped:
			r.Stopped++
		case a.Dialog != nil && a.Dialog.Kind == coleo.DialogLogin:
			asking[accountOf(a)] = a.Name
		}
	}
	r.recoverAll(ctx, client, groups, asking, local)
	slices.Sort(r.Away)
	return r, nil
}

// isLive reports whether somebody drives an arm: serve, or a live host agent whose log serve has
// read.
func isLive(hosts []coleo.HostInfo, a coleo.Arm) bool {
	return a.AgentID == "" || a.AgentID == coleo.LocalHost ||
		slices.ContainsFunc(hosts, func(h coleo.HostInfo) bool { return h.Live && !h.Behind && h.ID == a.AgentID })
}

// awaitStates waits until serve knows the states of the arms of live host agents, and returns the
// host agents. A running arm whose state stays unknown is no error, because its recovery asks the
// host agent again.
func awaitStates(ctx context.Context, client *apiclient.Client) ([]coleo.HostInfo, error) {
	limited, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	hosts, err := caughtUp(ctx, client, limited.Done())
	if err != nil {
		return nil, err
	}
	arms, err := client.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	runEach(len(arms), func(i int) {
		if a := arms[i]; a.Status != coleo.StatusStopped && isLive(hosts, a) {
			_, _ = client.WaitArm(limited, a.ID, coleo.States()...)
		}
	})
	return hosts, ctx.Err()
}

// caughtUp waits until serve has read the logs of all host agents, and returns the host agents. It stops
// waiting when the channel `late` is closed. Without this wait, serve's row of a stopped arm could be out of
// date: only the log of the host agent says that the arm ran until the reboot.
func caughtUp(ctx context.Context, client *apiclient.Client, late <-chan struct{}) ([]coleo.HostInfo, error) {
	for {
		hosts, err := client.Hosts(ctx)
		if err != nil || !slices.ContainsFunc(hosts, func(h coleo.HostInfo) bool { return h.Behind }) {
			return hosts, err
		}
		select {
		case <-late:
			return hosts, nil
		case <-time.After(settlePause):
		}
	}
}

// recoverAll recovers the arms of all accounts. `asking` maps each account that already needs a login to an arm
// that shows the login dialog.
func (r *Report) recoverAll(ctx context.Context, client *apiclient.Client, groups map[Account][]coleo.Arm,
	asking map[Account]string, local bool) {
	accounts := make([]Account, 0, len(groups))
	for account := range groups {
		accounts = append(accounts, account)
	}
	for account := range asking {
		if groups[account] == nil {
			accounts = append(accounts, account)
		}
	}
	slices.SortFunc(accounts, Account.compare)
	done := make([][]Outcome, len(accounts))
	runEach(len(accounts), func(i int) {
		done[i] = revive(groups[accounts[i]], asking[accounts[i]] != "", func(a coleo.Arm) Outcome {
			return recoverOne(ctx, client, a, local)
		})
	})
	for i, account := range accounts {
		l := Login{Account: account}
		if asking[account] != "" {
			l.Arms = append(l.Arms, asking[account])
		}
		for _, o := range done[i] {
			if o.login {
				l.Arms = append(l.Arms, o.Arm)
			}
		}
		if r.Arms = append(r.Arms, done[i]...); len(l.Arms) > 0 {
			r.Logins = append(r.Logins, l)
		}
	}
}

// revive recovers the arms of one account. It starts a single arm first. If this arm asks for a login, revive
// does not start the others, because they would ask for the same login. `asks` is true if another arm already
// asks for the login; revive then starts no arm.
func revive(arms []coleo.Arm, asks bool, recoverArm func(coleo.Arm) Outcome) []Outcome {
	out := make([]Outcome, len(arms))
	wait := func(i int) { out[i] = Outcome{Arm: arms[i].Name, Step: Waits, login: true} }
	next := 0
	for ; next < len(arms) && !asks; next++ {
		out[next] = recoverArm(arms[next])
		// If the arm was started, its screen shows whether the account needs a login.
		if out[next].Step != Failed {
			asks, next = out[next].login && out[next].Parked == nil, next+1
			break
		}
	}
	rest := len(arms) - next
	if asks {
		for i := range rest {
			wait(next + i)
		}
		return out
	}
	runEach(rest, func(i int) { out[next+i] = recoverArm(arms[next+i]) })
	return out
}

// runEach calls `do` with each number from 0 to n-1. At most atOnce calls run at the same time.
func runEach(n int, do func(i int)) {
	turn := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			do(i)
		})
	}
	all.Wait()
}

func recoverOne(ctx context.Context, client *apiclient.Client, a coleo.Arm, local bool) Outcome {
	o := Outcome{Arm: a.Name, Step: Failed}
	q := wire.RecoverRequest{}
	if local {
		q.AllowLocalFallback = &local
	}
	reply, err := arm.Recover(ctx, client, a.ID, q, readyTimeout)
	if coleo.ErrorCode(err) == coleo.EConflict {
		if now, runs := startedMeanwhile(ctx, client, a.ID); runs {
			reply, err = wire.SpawnReply{Arm: now}, nil
		}
	}
	if err != nil {
		if !errors.As(err, &o.Error) {
			o.Error = coleo.Errorf(coleo.EInternal, "%v", err)
		}
		return o
	}
	switch {
	case !reply.Spawned:
		o.Step = Reattached
	case reply.Resumed:
		o.Step = Resumed
	default:
		o.Step = Anew
	}
	if o.State = reply.Arm.State; reply.Arm.Queue != nil {
		o.Parked = reply.Arm.Queue.Parked
	}
	dialog := reply.Arm.Dialog
	o.login = dialog != nil && dialog.Kind == coleo.DialogLogin || o.Parked != nil && o.Parked.Kind == coleo.LimitLogin
	return o
}

// startedMeanwhile waits for an arm that another 'up --revive' is starting, until the arm is ready.
// It returns the arm, and whether the arm runs.
func startedMeanwhile(ctx context.Context, client *apiclient.Client, id string) (now coleo.Arm, runs bool) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	now, err := client.WaitArm(ctx, id, coleo.Idle, coleo.Processing, coleo.Executing, coleo.WaitingApproval,
		coleo.Failed, coleo.Dead)
	return now, err == nil && now.Status != coleo.StatusStopped && now.State != coleo.Dead
}
