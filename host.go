package coleo

import (
	"slices"
	"time"
)

// LocalHost is the id of the host that serve is itself, if an arm runs without a host
// agent. No host agent has this id.
const LocalHost = "local"

// LocalNote is what users read of an arm of host local.
const LocalNote = "runs without a host agent: nobody reads it while serve is down"

// Host is a host agent's description of itself and its machine.
type Host struct {
	ID           string    `json:"agentId"` // stays the same over restarts; also in Event.Host and Arm.AgentID
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"` // "linux/amd64"
	Version      string    `json:"version"`  // of coleo
	StartedAt    time.Time `json:"startedAt,omitzero"`
	LastSeen     time.Time `json:"lastSeen,omitzero"`
	Capabilities []string  `json:"capabilities"` // names of the harnesses that the host agent can drive
	MaxArms      int       `json:"maxArms"`      // 0 means no limit
}

// Drives reports whether the host agent can run arms of that harness.
func (h Host) Drives(harness string) bool { return slices.Contains(h.Capabilities, harness) }
