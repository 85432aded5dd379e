package recovery

import (
	"fmt"

	"coleo.dev"
)

// target picks where the arm is started: where it was proven to run, else on
// the host agent that was asked for, else on the one that had it, if that one
// is still live, else on a live one of its machine, else on the live one with
// the fewest arms. A recorded host agent that is not live counts for nothing.
// The second result is the refusal when there is none.
func (e Evidence) target() (Host, string) {
	local := Host{Host: coleo.Host{ID: LocalHost}}
	if e.proven() && e.Found.Host == LocalHost && e.mayRunHere() {
		return local, ""
	}
	if e.proven() {
		if h, ok := e.usable(e.Found.Host); ok {
			return h, ""
		}
	}
	for _, id := range []string{e.Preferred, e.Arm.AgentID} {
		if h, ok := e.usable(id); ok {
			return h, ""
		}
	}
	if h, ok := e.leastBusy(func(h Host) bool { return h.Hostname != "" && h.Hostname == e.Arm.Hostname }); ok {
		return h, ""
	}
	if !e.Harness.DaemonManaged && e.Arm.AgentID == "" && e.mayRunHere() {
		return local, ""
	}
	if h, ok := e.leastBusy(func(Host) bool { return true }); ok {
		return h, ""
	}
	if e.mayRunHere() {
		return local, ""
	}
	return Host{}, e.nowhere()
}

// mayRunHere tells whether the policy lets the agent CLI be started without a
// host agent.
func (e Evidence) mayRunHere() bool {
	return !e.RemoteOnly && (!e.Harness.DaemonManaged || e.AllowLocalFallback)
}

// nowhere says why no host can start the arm.
func (e Evidence) nowhere() string {
	if len(e.Hosts) == 0 {
		return fmt.Sprintf("Harness '%s' requires the arm agent daemon. Distributed arm management is unavailable.", e.Harness.Name)
	}
	for _, h := range e.Hosts {
		if h.Drives(e.Harness.Name) {
			return fmt.Sprintf("Every host agent for harness '%s' runs as many arms as it may. Stop one, or start another host agent.", e.Harness.Name)
		}
	}
	return fmt.Sprintf("No agent available for harness '%s'. Start an arm agent daemon with 'coleo agent start'.", e.Harness.Name)
}

func (e Evidence) live(id string) (Host, bool) {
	for _, h := range e.Hosts {
		if h.ID == id && id != "" {
			return h, true
		}
	}
	return Host{}, false
}

// usable returns a live host agent that can start the arm.
func (e Evidence) usable(id string) (Host, bool) {
	h, ok := e.live(id)
	return h, ok && e.canStart(h)
}

// canStart tells whether a host drives the harness and has room. An arm that
// the host has already needs no more room.
func (e Evidence) canStart(h Host) bool {
	room := h.MaxArms <= 0 || h.Arms < h.MaxArms || h.ID == e.Arm.AgentID || (e.proven() && h.ID == e.Found.Host)
	return room && h.Drives(e.Harness.Name)
}

// leastBusy returns the usable host with the fewest arms; by id when equal.
func (e Evidence) leastBusy(want func(Host) bool) (Host, bool) {
	var best Host
	found := false
	for _, h := range e.Hosts {
		if !want(h) || !e.canStart(h) {
			continue
		}
		if !found || h.Arms < best.Arms || (h.Arms == best.Arms && h.ID < best.ID) {
			best, found = h, true
		}
	}
	return best, found
}

// isHome tells whether a host has the arm's conversation: agent CLIs keep
// theirs on the machine where they ran.
func (e Evidence) isHome(h Host) bool {
	switch {
	case e.proven() && h.ID == e.Found.Host:
		return true
	case h.ID == LocalHost:
		return e.Arm.AgentID == ""
	case h.ID == e.Arm.AgentID:
		return true
	}
	return h.Hostname != "" && h.Hostname == e.Arm.Hostname
}
