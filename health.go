package coleo

import (
	"fmt"
	"time"
)

// Health is an arm's condition in the published API.
type Health string

// The values of Health.
const (
	HealthStarting    Health = "starting"
	HealthActive      Health = "active"
	HealthQuiet       Health = "quiet"
	HealthHung        Health = "hung"
	HealthBlocked     Health = "blocked"
	HealthRecoverable Health = "recoverable"
	HealthStopped     Health = "stopped"
	HealthUnknown     Health = "unknown"
)

// These constants are the thresholds of Summarise.
const (
	OutputActive   = 90 * time.Second  // an arm with output within this time counts as active
	ActivityQuiet  = 180 * time.Second // activity within this time counts as recent
	OutputHung     = 300 * time.Second // a working arm counts as hung after this time without output
	HeartbeatStale = 120 * time.Second // a heartbeat that is older than this is ignored
)

// Signals is the input of Summarise.
type Signals struct {
	Status    Status
	State     State
	PID       int
	Port      int
	SessionID string
	AgentID   string
	Workdir   string
	Task      string
	Asks      bool // whether the arm has asked something with one of Coleo's tools, and waits for the answer

	LastActivity  time.Time
	LastHeartbeat time.Time
	LastOutput    time.Time

	Watch Watch
}

// Watch says whether a host agent watches an arm now, and what the host agent sees. The zero Watch
// means that nothing is known, and does not change the result of Summarise.
type Watch struct {
	AsOf    time.Time // the time when a host agent last confirmed the arm's state
	Missing string    // why no host agent watches the arm, in words for users; "" if a host agent watches the arm
	Frozen  int       // the pid of the agent CLI if a signal has stopped it; otherwise 0
	// Blocked is the reason why the arm cannot continue. For example, the disk may have no room for
	// the arm's output. Blocked is "" if the arm can continue.
	Blocked string
	// Unjudged is the agent CLI's version if Coleo's rules were not tested on this version. Otherwise
	// it is "".
	Unjudged string
}

// SignalFlags shows users which facts in Signals are set, such as the pid.
type SignalFlags struct {
	DBStatus        Status `json:"dbStatus"`
	HasPID          bool   `json:"hasPid"`
	HasPort         bool   `json:"hasPort"`
	HasSessionID    bool   `json:"hasSessionId"`
	HasAgentID      bool   `json:"hasAgentId"`
	HasWorkdir      bool   `json:"hasWorkdir"`
	HasAssignedTask bool   `json:"hasAssignedTask"`
	Distributed     bool   `json:"distributed"`
}

// Runtime is an arm's health with the reasons for it. Each field with Seconds in its name is an age
// in seconds, or nil if Coleo does not know the age.
type Runtime struct {
	State                 Health    `json:"state"`
	Reason                string    `json:"reason"`
	Distributed           bool      `json:"distributed"`     // whether a host agent drives the arm
	Local                 bool      `json:"local,omitempty"` // whether serve itself drives the arm; see LocalNote
	HasRuntime            bool      `json:"hasRuntime"`
	HasSession            bool      `json:"hasSession"`
	CanRecover            bool      `json:"canRecover"`
	CanRestart            bool      `json:"canRestart"`
	LastActivityAt        time.Time `json:"lastActivityAt,omitzero"`
	LastHeartbeatAt       time.Time `json:"lastHeartbeatAt,omitzero"`
	LastOutputAt          time.Time `json:"lastOutputAt,omitzero"`
	SecondsSinceActivity  *int      `json:"secondsSinceActivity"`
	SecondsSinceHeartbeat *int      `json:"secondsSinceHeartbeat"`
	SecondsSinceOutput    *int      `json:"secondsSinceOutput"`
	AsOf                  time.Time `json:"asOf,omitzero"` // the time when a host agent last confirmed the arm's state
	// Stale is true if State is only as recent as AsOf, because no host agent watches the arm.
	Stale  bool `json:"stale,omitempty"`
	Frozen bool `json:"frozen,omitempty"` // whether a signal has stopped the agent CLI
	// Unjudged is the agent CLI's version if Coleo's rules were not tested on this version. Otherwise
	// it is "".
	Unjudged string      `json:"unjudged,omitempty"`
	Display  Display     `json:"display"`
	Signals  SignalFlags `json:"signals"`
}

// Summarise computes the health of an arm at the given time, without side effects. An arm that
// waits for an approval or an answer does not count as hung for lack of output, while its host
// agent sends heartbeats. Summarise ignores times that are unset or in the future.
func Summarise(s Signals, now time.Time) Runtime {
	r := Runtime{
		Distributed:           s.AgentID != "" && s.AgentID != LocalHost,
		Local:                 s.AgentID == LocalHost && s.Status != StatusStopped,
		HasRuntime:            s.PID != 0 || s.Port != 0 || s.SessionID != "" || s.AgentID != "",
		HasSession:            s.SessionID != "",
		LastActivityAt:        s.LastActivity,
		LastHeartbeatAt:       s.LastHeartbeat,
		LastOutputAt:          s.LastOutput,
		SecondsSinceActivity:  secondsSince(s.LastActivity, now),
		SecondsSinceHeartbeat: secondsSince(s.LastHeartbeat, now),
		SecondsSinceOutput:    secondsSince(s.LastOutput, now),
		Signals: SignalFlags{
			DBStatus: s.Status, HasPID: s.PID != 0, HasPort: s.Port != 0, HasSessionID: s.SessionID != "",
			HasAgentID: s.AgentID != "", HasWorkdir: s.Workdir != "", HasAssignedTask: s.Task != "",
			Distributed: s.AgentID != "" && s.AgentID != LocalHost,
		},
	}
	r.Unjudged = s.Watch.Unjudged
	r.AsOf, r.Stale, r.Frozen = s.Watch.AsOf, s.Watch.Missing != "", s.Watch.Frozen != 0
	r.CanRecover = s.Workdir != "" || r.HasRuntime
	r.CanRestart = r.CanRecover
	r.State, r.Reason = judge(s, r, now)
	if r.Local {
		r.Reason += "; it " + LocalNote
	}
	r.Display = displayOf(s.Status, r.State)
	return r
}

func judge(s Signals, r Runtime, now time.Time) (Health, string) {
	output := isWithin(s.LastOutput, now, OutputActive)
	activity := isWithin(s.LastActivity, now, ActivityQuiet)
	heartbeat := isWithin(s.LastHeartbeat, now, HeartbeatStale)
	if health, reason := unwatchedHealth(s, now); health != "" {
		return health, reason
	}
	status := s.Status
	if status == StatusPaused && (s.State.Working() || s.State == WaitingApproval) {
		status = StatusBusy // the arm itself works; only its queue is paused
	}
	switch status {
	case StatusStarting:
		if r.HasRuntime {
			return HealthStarting, "has runtime metadata and is still starting"
		}
		return HealthStarting, "has not reported a runtime yet"
	case StatusStopped:
		return HealthStopped, "the arm is stopped"
	case StatusError:
		return recoverableHealth(r, "its last turn, or its start, ended in an error")
	case StatusBusy, StatusRunning:
		return judgeBusy(s, r, now, output || activity, heartbeat)
	case StatusIdle, StatusPaused, StatusPlanningBlocked:
		if output || activity || heartbeat {
			return HealthQuiet, "waits for work; its session is alive"
		}
		return recoverableHealth(r, "no sign of life from its session for "+ageText(s.LastHeartbeat, now))
	}
	return HealthUnknown, fmt.Sprintf("unknown status %q", s.Status)
}

// unwatchedHealth returns the health of an arm in three cases, with the reason: no host agent watches
// the arm, a signal has stopped its agent CLI, or the arm cannot continue. For any other arm, and for
// a stopped arm, it returns "".
func unwatchedHealth(s Signals, now time.Time) (Health, string) {
	switch {
	case s.Status == StatusStopped:
		return "", ""
	case s.Watch.Missing != "":
		return HealthUnknown, fmt.Sprintf("nobody watches it: %s; its state is as of %s ago",
			s.Watch.Missing, ageText(s.Watch.AsOf, now))
	case s.Watch.Frozen != 0:
		return HealthHung, fmt.Sprintf("a signal has stopped its agent CLI: 'kill -CONT %d' continues it",
			s.Watch.Frozen)
	case s.Watch.Blocked != "":
		return HealthBlocked, s.Watch.Blocked
	}
	return "", ""
}

func judgeBusy(s Signals, r Runtime, now time.Time, recent, heartbeat bool) (Health, string) {
	if s.State == WaitingApproval && heartbeat {
		return HealthActive, "waits for an approval"
	}
	if s.Asks && heartbeat {
		return HealthActive, "waits for an answer"
	}
	if !heartbeat && !recent {
		if r.HasRuntime {
			return HealthHung, "busy, and no sign of life for " + ageText(s.LastHeartbeat, now)
		}
		return recoverableHealth(r, "busy without a runtime")
	}
	if !recent && !s.LastOutput.IsZero() && now.Sub(s.LastOutput) > OutputHung {
		return HealthHung, "working, and no output for " + ageText(s.LastOutput, now)
	}
	return HealthActive, "works; last output " + ageText(s.LastOutput, now) + " ago"
}

func recoverableHealth(r Runtime, why string) (Health, string) {
	if r.CanRecover {
		return HealthRecoverable, why + "; it can be recovered"
	}
	return HealthUnknown, why + ", and nothing is known to recover it from"
}

func isWithin(t, now time.Time, limit time.Duration) bool {
	d := now.Sub(t)
	return !t.IsZero() && d >= 0 && d <= limit
}

func secondsSince(t, now time.Time) *int {
	if t.IsZero() || now.Before(t) {
		return nil
	}
	n := int(now.Sub(t).Seconds())
	return &n
}

func ageText(t, now time.Time) string {
	if t.IsZero() || now.Before(t) {
		return "an unknown time"
	}
	return Age(now.Sub(t))
}

// Age formats a duration for tables, for example 45s, 12m, 3h 4m or 2d 5h.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// RecoveryMode is how an arm was recovered.
type RecoveryMode string

// The recovery modes.
const (
	RecoveryReattached RecoveryMode = "reattached" // the arm's session had never ended
	RecoveryRecovered  RecoveryMode = "recovered"  // Coleo found the arm's running server by its pid and port
	RecoveryRestarted  RecoveryMode = "restarted"  // a new process runs; Resumed says whether the conversation continues
)
