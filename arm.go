package coleo

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// Status is an arm's status as the database stores it. Status and State have different
// values. Code never uses a value of one type for the other.
type Status string

// The statuses of an arm.
const (
	StatusStarting Status = "starting"
	StatusRunning  Status = "running"
	StatusIdle     Status = "idle"
	StatusBusy     Status = "busy"
	StatusPaused   Status = "paused" // idle or busy, and its queue is paused; State says which
	StatusError    Status = "error"
	StatusStopped  Status = "stopped"
	// StatusPlanningBlocked means that an arm is paused until the user approves its
	// plan. The store saves StatusPaused for such an arm, and a mark in another column.
	StatusPlanningBlocked Status = "planning_blocked"
)

// Desired is what an arm should do. It can differ from what the arm is doing.
type Desired string

// The values of Desired.
const (
	DesiredRunning Desired = "running"
	DesiredStopped Desired = "stopped"
)

// StatusOf returns the status of an arm whose session is in state s. An arm in
// waiting_approval is busy, because its turn has not ended.
func StatusOf(s State) Status {
	switch s {
	case Initializing:
		return StatusStarting
	case Idle:
		return StatusIdle
	case Processing, Executing, WaitingApproval:
		return StatusBusy
	case Failed:
		return StatusError
	case Dead:
		return StatusStopped
	}
	return StatusError
}

// Arm is a worker driven by one harness. This type is the arm's row in the store and
// the arm's JSON form in the API. Times are in UTC. A zero time means never, and the
// JSON omits it.
type Arm struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Domain  string `json:"domain,omitempty"`
	Harness string `json:"harness"`
	Status  Status `json:"status"`
	State   State  `json:"state"` // the last state of the session
	Rule    string `json:"rule,omitempty"`

	ContextBudget      int `json:"contextBudget"`
	CurrentContextUsed int `json:"currentContextUsed"`

	CreatedAt           time.Time `json:"createdAt,omitzero"`
	UpdatedAt           time.Time `json:"updatedAt,omitzero"`
	LastActivityAt      time.Time `json:"lastActivityAt,omitzero"`
	LastHeartbeat       time.Time `json:"lastHeartbeat,omitzero"`
	LastOutputAt        time.Time `json:"lastOutputAt,omitzero"`
	RecoveryRequestedAt time.Time `json:"recoveryRequestedAt,omitzero"`

	Config json.RawMessage `json:"config,omitempty"`

	PID         int     `json:"pid,omitempty"`
	Port        int     `json:"port,omitempty"`
	Provider    string  `json:"provider,omitempty"`
	Model       string  `json:"model,omitempty"`
	TotalTokens int     `json:"totalTokens"`
	TotalCost   float64 `json:"totalCost"`

	CurrentTaskID      string `json:"currentTaskId,omitempty"`
	CurrentTaskSubject string `json:"currentTaskSubject,omitempty"`
	CurrentBugID       string `json:"currentBugId,omitempty"`
	CurrentBugTitle    string `json:"currentBugTitle,omitempty"`
	ParentArmID        string `json:"parentArmId,omitempty"`

	AgentID    string `json:"agentId,omitempty"` // the id of the arm's host agent
	Host       string `json:"host,omitempty"`
	SessionID  string `json:"sessionId,omitempty"` // the id of the agent CLI's conversation
	Workdir    string `json:"workdir,omitempty"`
	Generation int    `json:"generation"`

	Dialog *Dialog `json:"dialog,omitempty"`
	// Suspensions has the questions that the arm has asked with Coleo's tools, and on
	// which it waits. The dialog on the screen is not among them.
	Suspensions []Suspension `json:"suspensions,omitempty"`
	Window      *Window      `json:"window,omitempty"` // set for a harness that shows its agent CLI in a window
	Mode        string       `json:"mode,omitempty"`   // the id of the agent CLI's mode, as told last
	// Queue is nil if no prompt waits in the arm's queue and the queue is not paused.
	Queue   *QueueState `json:"queue,omitempty"`
	Runtime Runtime     `json:"runtime"`
}

// Signals returns the signals for Summarise from the arm's row. The field Watch of the
// result is empty.
func (a Arm) Signals() Signals {
	return Signals{
		Status: a.Status, State: a.State,
		PID: a.PID, Port: a.Port, SessionID: a.SessionID, AgentID: a.AgentID,
		Workdir: a.Workdir, Task: a.CurrentTaskID,
		Asks:         len(a.Suspensions) > 0,
		LastActivity: a.LastActivityAt, LastHeartbeat: a.LastHeartbeat, LastOutput: a.LastOutputAt,
	}
}

// StatusIn returns the status of the arm when its session is in state s. An arm whose
// queue is paused is paused while its session is idle or works. An arm whose plan is
// blocked stays so when a turn begins or ends.
func (a Arm) StatusIn(s State) Status {
	status := StatusOf(s)
	switch {
	case status != StatusIdle && status != StatusBusy:
	case a.Status == StatusPlanningBlocked:
		return a.Status
	case a.Queue != nil && a.Queue.Paused != "":
		return StatusPaused
	}
	return status
}

// maxArmName is the maximum length of an arm's name, in bytes. It is also the maximum
// for the id of a host agent, which becomes part of the bus's subjects.
const maxArmName = 63

// CheckName returns an EInvalid error if name cannot be the name of an arm. The name of
// an arm has 1 to 63 characters: letters, digits, '.', '_' and '-'. It starts with a
// letter or digit.
func CheckName(name string) error {
	ok := name != "" && len(name) <= maxArmName
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = ok && (letter || i > 0 && (c == '.' || c == '_' || c == '-'))
	}
	if !ok {
		return Errorf(EInvalid,
			"%q cannot name an arm: use 1 to 63 letters, digits, '.', '_' or '-', beginning with a letter or digit",
			name)
	}
	return nil
}

// RecoveryMode is how an arm was recovered.
type RecoveryMode string

// The recovery modes.
const (
	RecoveryReattached RecoveryMode = "reattached" // the arm's session had never ended
	RecoveryRecovered  RecoveryMode = "recovered"  // Coleo found the arm's running server by its pid and port
	RecoveryRestarted  RecoveryMode = "restarted"  // a new process runs; Resumed says whether the conversation continues
)

// NewUUID returns a random UUID (version 4).
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
