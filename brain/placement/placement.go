// Package placement decides on which host an arm starts. It also decides whether the host agent on that host is
// too old to carry out the order to start the arm.
//
// Package placement only computes: it asks no host, and gives no order.
package placement

import (
	"slices"

	"coleo.dev"
	"coleo.dev/bus"
)

// Hosts contains what serve knows about the hosts when an arm starts.
type Hosts struct {
	// Live contains the last beat (sign of life) of each host agent that can be asked now. The beat of the host agent
	// with the fewest arms comes first.
	Live []bus.Beat
	// Local reports whether serve can drive arms itself, as host local.
	Local bool
	// AllowLocal allows serve itself, as host local, to run arms of daemon-managed harnesses. A request can override
	// AllowLocal.
	AllowLocal bool
	// RemoteOnly forbids arms on host local (serve itself), even if a request allows them.
	RemoteOnly bool
}

// HostRequest contains what a start needs from its host.
type HostRequest struct {
	Harness    coleo.Info
	Host       string // the id of the host agent that the request names, or ""
	Last       string // the id of the host that had the arm before, or ""
	AllowLocal *bool  // the value that replaces Hosts.AllowLocal; nil if the request sets none
}

// Choose returns the host that starts an arm. It prefers host agents. If no host agent can start the arm, Choose
// returns host local (serve itself) under these conditions:
//   - The request names no host agent.
//   - The harness is not daemon-managed, or the request allows host local.
//   - COLEO_REMOTE_ARMS_ONLY is not set.
//
// Choose returns EInvalid if the request names host local. It returns EUnavailable if there is no host agent,
// EConflict if all hosts are full, and ENotInstalled if no host has the agent CLI.
func (h Hosts) Choose(w HostRequest) (bus.Beat, error) {
	if w.Host == coleo.LocalHost {
		return bus.Beat{}, coleo.Errorf(coleo.EInvalid,
			"%q is not a host agent: leave it out, and use --allow-local for an arm without a host agent",
			coleo.LocalHost)
	}
	beat, err := h.chooseAgent(w)
	if err == nil || w.Host != "" || !h.Local {
		return beat, err
	}
	switch wanted := !w.Harness.DaemonManaged || h.AllowsLocal(w.AllowLocal); {
	case wanted && h.RemoteOnly:
		return beat, NeedsHostAgent(w.Harness.Name)
	case wanted:
		return bus.Beat{ID: coleo.LocalHost}, nil
	}
	return beat, err
}

// chooseAgent chooses the host agent that the request names. If the request names none, chooseAgent
// prefers the host agent that last had the arm. If that host agent cannot start the arm,
// chooseAgent takes the host agent with the fewest arms.
func (h Hosts) chooseAgent(w HostRequest) (bus.Beat, error) {
	if w.Host != "" {
		for _, beat := range h.Live {
			if beat.ID == w.Host {
				// do not check whether this host agent can start the arm, because it reports the reason itself
				return beat, nil
			}
		}
		return bus.Beat{}, coleo.Errorf(coleo.EUnavailable,
			"the host agent %s is not connected; 'coleo agent status' lists the host agents", w.Host)
	}
	var able []bus.Beat
	for _, beat := range h.Live {
		if slices.Contains(beat.Capabilities, w.Harness.Name) && beat.HasRoom() {
			able = append(able, beat)
		}
	}
	for _, beat := range able {
		if beat.ID == w.Last {
			return beat, nil
		}
	}
	if len(able) > 0 {
		return able[0], nil
	}
	return bus.Beat{}, h.noneAble(w.Harness)
}

// noneAble returns the error for an arm that no host agent can start.
func (h Hosts) noneAble(i coleo.Info) error {
	switch {
	case len(h.Live) == 0:
		return coleo.Errorf(coleo.EUnavailable,
			"No agent available for harness '%s'. Start an arm agent daemon with 'coleo agent start'.", i.Name)
	case slices.Contains(h.Installed(), i.Name):
		return coleo.Errorf(coleo.EConflict,
			"every host with %s has its maximum number of arms: stop one, "+
				"or set a larger max_arms in config.toml and restart Coleo ('coleo down', 'coleo up')",
			i.Title)
	}
	return coleo.Errorf(coleo.ENotInstalled,
		"%s is not installed: no program %q on any host; install it with: %s",
		i.Title, i.Command, i.Install)
}

// Installed returns the names of the harnesses that are installed on at least one host, sorted.
func (h Hosts) Installed() []string {
	var names []string
	for _, beat := range h.Live {
		names = append(names, beat.Capabilities...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// AllowsLocal reports whether an arm of a daemon-managed harness may start without a host agent. `asked` is
// the value in the request. If it is nil, AllowLocal decides.
func (h Hosts) AllowsLocal(asked *bool) bool {
	if asked != nil {
		return *asked
	}
	return h.AllowLocal
}

// NeedsHostAgent returns the error for an arm if no host agent can start it and serve does not allow arms without
// a host agent.
func NeedsHostAgent(harness string) error {
	return coleo.Errorf(coleo.EUnavailable,
		"nothing was started: serve runs with COLEO_REMOTE_ARMS_ONLY, so harness '%s' needs a host agent: "+
			"'coleo agent start' starts one", harness)
}
