package coleo

import (
	"slices"
	"time"
)

// Host is what a host agent says about itself and its machine.
type Host struct {
	ID           string    `json:"agentId"` // stays the same over restarts; Event.Host and Arm.AgentID
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"` // "linux/amd64"
	Version      string    `json:"version"`  // of coleo
	StartedAt    time.Time `json:"startedAt,omitzero"`
	LastSeen     time.Time `json:"lastSeen,omitzero"`
	Capabilities []string  `json:"capabilities"` // names of the harnesses it can drive
	MaxArms      int       `json:"maxArms"`      // 0: no bound
}

// Drives tells whether the host agent can run arms of that harness.
func (h Host) Drives(harness string) bool { return slices.Contains(h.Capabilities, harness) }
