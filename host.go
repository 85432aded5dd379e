package coleo

import (
	"slices"
	"time"
)

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
