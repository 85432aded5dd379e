package recovery

import (
	"fmt"
	"slices"

	"coleo.dev"
)

// target chooses the host that starts the arm. It prefers, in this order:
//
//   - the host on which a session has proved that it belongs to the arm
//   - the requested host agent
//   - the host agent that last had the arm
//   - a host agent on the arm's machine
//   - LocalHost, if the arm had no host agent and its harness needs none
//   - the host agent with the fewest arms
//   - LocalHost, if the policy allows it
//
// target ignores host agents that are not live. If no host can start the arm, the
// second result is the reason.
func (e Evidence) target() (coleo.HostInfo, string) {
	local := coleo.HostInfo{Host: coleo.Host{ID: LocalHost}, Live: true}
	if e.isProven() && e.Found.Host == LocalHost && e.mayRunHere() {
		return local, ""
	}
	if e.isProven() {
		if h, ok := e.usable(e.Found.Host); ok {
			return h, ""
		}
	}
	for _, id := range []string{e.Preferred, e.Arm.AgentID} {
		if h, ok := e.usable(id); ok {
			return h, ""
		}
	}
	if h, ok := e.leastBusy(func(h coleo.HostInfo) bool {
		return h.Hostname != "" && h.Hostname == e.Arm.Hostname
	}); ok {
		return h, ""
	}
	if !e.Harness.DaemonManaged && e.Arm.AgentID == "" && e.mayRunHere() {
		return local, ""
	}
	if h, ok := e.leastBusy(func(coleo.HostInfo) bool { return true }); ok {
		return h, ""
	}
	if e.mayRunHere() {
		return local, ""
	}
	return coleo.HostInfo{}, e.noHostReason()
}

// mayRunHere reports whether LocalHost is allowed to start the agent CLI.
func (e Evidence) mayRunHere() bool {
	return !e.RemoteOnly && (!e.Harness.DaemonManaged || e.AllowLocalFallback)
}

// noHostReason returns the reason why no host can start the arm.
func (e Evidence) noHostReason() string {
	if !slices.ContainsFunc(e.Hosts, func(h coleo.HostInfo) bool { return h.Live }) {
		return fmt.Sprintf("Harness '%s' requires the arm agent daemon. Distributed arm management is unavailable.",
			e.Harness.Name)
	}
	for _, h := range e.Hosts {
		if h.Live && h.Drives(e.Harness.Name) {
			return fmt.Sprintf(
				"Every host agent for harness '%s' runs its maximum number of arms. Stop an arm, or start another host agent.",
				e.Harness.Name)
		}
	}
	return fmt.Sprintf("No agent available for harness '%s'. Start an arm agent daemon with 'coleo agent start'.",
		e.Harness.Name)
}

func (e Evidence) liveHost(id string) (coleo.HostInfo, bool) {
	for _, h := range e.Hosts {
		if h.Live && h.ID == id && id != "" {
			return h, true
		}
	}
	return coleo.HostInfo{}, false
}

// usable returns the host agent with the given id. It returns false if this host agent
// is not live or cannot start the arm.
func (e Evidence) usable(id string) (coleo.HostInfo, bool) {
	h, ok := e.liveHost(id)
	return h, ok && e.canStart(h)
}

// canStart reports whether the host h is live, supports the harness, and has room for the arm. A
// host that already has the arm needs no extra room.
func (e Evidence) canStart(h coleo.HostInfo) bool {
	room := h.MaxArms <= 0 || h.Arms < h.MaxArms || h.ID == e.Arm.AgentID || (e.isProven() && h.ID == e.Found.Host)
	return h.Live && room && h.Drives(e.Harness.Name)
}

// leastBusy returns the host with the fewest arms among the hosts that can start the arm and that
// the given function accepts. Of several such hosts, it returns the one with the lowest id.
func (e Evidence) leastBusy(accepts func(coleo.HostInfo) bool) (coleo.HostInfo, bool) {
	var best coleo.HostInfo
	found := false
	for _, h := range e.Hosts {
		if !accepts(h) || !e.canStart(h) {
			continue
		}
		if !found || h.Arms < best.Arms || (h.Arms == best.Arms && h.ID < best.ID) {
			best, found = h, true
		}
	}
	return best, found
}

// isHome reports whether the arm's conversation is on the host h. An agent CLI stores
// its conversations on the machine where it runs.
func (e Evidence) isHome(h coleo.HostInfo) bool {
	switch {
	case e.isProven() && h.ID == e.Found.Host:
		return true
	case h.ID == LocalHost:
		return e.Arm.AgentID == "" || e.Arm.AgentID == LocalHost
	case h.ID == e.Arm.AgentID:
		return true
	}
	return h.Hostname != "" && h.Hostname == e.Arm.Hostname
}
