package brain

import (
	"context"
	"fmt"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/recovery"
	"coleo.dev/wire"
)

// isLocal reports whether host is host local, so that serve itself drives the host's
// arms.
func isLocal(host string) bool { return host == coleo.LocalHost }

// agentWord returns words for the host of an arm, for a message about this arm.
func agentWord(host string) string {
	if isLocal(host) {
		return "serve itself"
	}
	return "its host agent " + host
}

// reach prepares a host for orders. It makes host local carry out orders, and does
// nothing for a host agent. It returns EUnavailable if serve cannot drive arms itself.
func (b *Brain) reach(ctx context.Context, host string) error {
	if !isLocal(host) {
		return nil
	}
	if b.Local == nil {
		return unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: this serve drives no arms itself")}
	}
	if err := b.Local(ctx); err != nil {
		return unsent{coleo.Errorf(coleo.EUnavailable, "nothing was done: serve could not begin to drive arms itself: %v",
			err)}
	}
	return nil
}

// allowsLocal reports whether a request allows an arm of a daemon-managed harness
// without a host agent. The parameter asked is the value from the request. If asked is
// nil, AllowLocal decides.
func (b *Brain) allowsLocal(asked *bool) bool {
	if asked != nil {
		return *asked
	}
	return b.AllowLocal
}

// placeArm chooses the host that starts an arm. It prefers host agents. If no host
// agent can start the arm, placeArm chooses host local under these conditions:
//   - The request names no host agent.
//   - The harness is not daemon-managed, or the request allows host local.
//   - COLEO_REMOTE_ARMS_ONLY is not set.
func (b *Brain) placeArm(harness string, q wire.SpawnRequest, last string) (bus.Beat, error) {
	if isLocal(q.AgentID) {
		return bus.Beat{}, coleo.Errorf(coleo.EInvalid,
			"%q is not a host agent: leave it out, and use --allow-local for an arm without a host agent",
			coleo.LocalHost)
	}
	beat, err := b.place(harness, q.AgentID, last)
	if err == nil || q.AgentID != "" || b.Local == nil {
		return beat, err
	}
	h, unknown := b.Registry.Get(harness)
	if unknown != nil {
		return beat, unknown
	}
	switch wanted := !h.Info().DaemonManaged || b.allowsLocal(q.AllowLocalFallback); {
	case wanted && b.RemoteOnly:
		return beat, remoteOnly(harness)
	case wanted:
		return bus.Beat{ID: coleo.LocalHost}, nil
	}
	return beat, err
}

// remoteOnly returns the error for an arm that could start only without a host agent.
// It is for a serve that forbids such arms.
func remoteOnly(harness string) error {
	return coleo.Errorf(coleo.EUnavailable,
		"nothing was started: serve runs with COLEO_REMOTE_ARMS_ONLY, so harness '%s' needs a host agent: "+
			"'coleo agent start' starts one", harness)
}

// refusal returns the error for a Recover without a remedy that can be carried out.
func (b *Brain) refusal(arm coleo.Arm, e recovery.Evidence, remedy recovery.Remedy) error {
	if b.RemoteOnly {
		e.RemoteOnly = false
		if r := recovery.Decide(e); r.Starts() && isLocal(r.Host) {
			return remoteOnly(arm.Harness)
		}
	}
	if why := b.watchOf(arm).Missing; why != "" {
		remedy.Reason += " Nobody watches the arm: " + why + "."
	}
	return coleo.Errorf(coleo.EUnavailable, "%s", remedy.Reason)
}

// localWarning returns a warning if an arm has just been started without a host agent.
// Otherwise it returns "".
func localWarning(arm coleo.Arm) string {
	if !isLocal(arm.AgentID) {
		return ""
	}
	return fmt.Sprintf("arm %s %s; the next host agent takes it up ('coleo up' starts one)", arm.Name, coleo.LocalNote)
}
