package coleo

import (
	"slices"
	"time"
)

// LocalHost is the id of host local: serve itself, as the host of arms without a host
// agent. No host agent has this id.
const LocalHost = "local"

// LocalNote explains to users what it means that an arm runs on host local.
const LocalNote = "runs without a host agent: nobody reads it while serve is down"

// Host is a host agent's description of itself and its machine.
type Host struct {
	ID           string    `json:"agentId"` // stays the same after a restart; Event.Host and Arm.AgentID have this id
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"` // "linux/amd64"
	Version      string    `json:"version"`  // the version of coleo
	StartedAt    time.Time `json:"startedAt,omitzero"`
	LastSeen     time.Time `json:"lastSeen,omitzero"`
	Capabilities []string  `json:"capabilities"` // the names of the harnesses that the host agent can drive
	MaxArms      int       `json:"maxArms"`      // 0 means no limit
}

// Drives reports whether the host agent can run arms of the given harness.
func (h Host) Drives(harness string) bool { return slices.Contains(h.Capabilities, harness) }

// HostInfo is a host agent's description and its present condition.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // the number of live arms
	Live bool `json:"live"` // the host agent answers, and its last sign of life is at most 90 s old
}

// OnPartition says what happens to an arm while its host agent cannot reach serve.
type OnPartition string

// The values of OnPartition. With both values, the agent CLI continues its work.
const (
	PartitionRun OnPartition = "run" // the default: the host agent still types what serve has ordered
	// PartitionFreeze makes the holder refuse all keys. The holder accepts keys only for 10 s after
	// serve has confirmed that no second generation of the arm can be running.
	PartitionFreeze OnPartition = "freeze"
)

// Valid reports whether p is one of the values above or empty.
func (p OnPartition) Valid() bool { return p == "" || p == PartitionRun || p == PartitionFreeze }
