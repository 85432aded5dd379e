package wire

import (
	"time"

	"coleo.dev"
	"coleo.dev/trigger"
)

// TriggerHistoryReply answers GET /api/triggers/history.
type TriggerHistoryReply struct {
	History []trigger.Entry `json:"history"` // newest first
}

// HealthReply answers GET /api/health.
type HealthReply struct {
	Status  string `json:"status"` // always "ok"
	Version string `json:"version"`
}

// HostsReply answers GET /api/agents.
type HostsReply struct {
	Agents []coleo.HostInfo `json:"agents"`
}

// HarnessesReply answers GET /api/harnesses.
type HarnessesReply struct {
	Harnesses []coleo.Info `json:"harnesses"`
}

// Status is a summary of the arms and host agents.
type Status struct {
	Version   string               `json:"version"`
	StartedAt time.Time            `json:"startedAt"`
	Arms      int                  `json:"arms"`
	ByStatus  map[coleo.Status]int `json:"byStatus"`
	ByHealth  map[coleo.Health]int `json:"byHealth"`
	Waiting   int                  `json:"waiting"` // the number of arms in waiting_approval
	Hosts     int                  `json:"agents"`  // the number of known host agents
	LiveHosts int                  `json:"liveAgents"`
}

// AuditReply answers GET /api/audit.
type AuditReply struct {
	Commands []coleo.Audit `json:"commands"` // newest first
}
