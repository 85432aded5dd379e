package coleo

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Status is an arm's status as the database stores it. Status and State have different values, and
// code never converts a value of one type into the other.
type Status string

// The statuses of an arm.
const (
	StatusStarting Status = "starting"
	StatusRunning  Status = "running"
	StatusIdle     Status = "idle"
	StatusBusy     Status = "busy"
	StatusPaused   Status = "paused" // the queue is paused; State says whether the arm is idle or busy
	StatusError    Status = "error"
	StatusStopped  Status = "stopped"
	// StatusPlanningBlocked means that an arm is paused until the user approves its plan. The store
	// saves this status in two columns: StatusPaused in `status`, and true in `planning_blocked`.
	StatusPlanningBlocked Status = "planning_blocked"
)

// Desired is what an arm should do. It can differ from what the arm is doing.
type Desired string

// The values of Desired.
const (
	DesiredRunning Desired = "running"
	DesiredStopped Desired = "stopped"
)

// StatusOf returns the status of an arm whose session is in the given state. An arm in
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
	// the labels that a person has written on the arm, so that commands can select it
	Labels Labels `json:"labels,omitempty"`

	PID      int    `json:"pid,omitempty"`
	Port     int    `json:"port,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// DefaultModel is the model with which the arm starts if nobody asks for another model. It has
	// the form PROVIDER/MODEL or MODEL. It can differ from Model: see ModelFallback.
	DefaultModel string `json:"defaultModel,omitempty"`
	// the model that the arm has in place of the requested model; nil if the arm has the requested model
	ModelFallback *ModelFallback `json:"modelFallback,omitempty"`
	TotalTokens   int            `json:"totalTokens"`
	TotalCost     float64        `json:"totalCost"`

	CurrentTaskID      string `json:"currentTaskId,omitempty"`
	CurrentTaskSubject string `json:"currentTaskSubject,omitempty"`
	CurrentBugID       string `json:"currentBugId,omitempty"`
	CurrentBugTitle    string `json:"currentBugTitle,omitempty"`
	ParentArmID        string `json:"parentArmId,omitempty"`

	AgentID    string `json:"agentId,omitempty"` // the id of the host agent that drives the arm
	Host       string `json:"host,omitempty"`
	SessionID  string `json:"sessionId,omitempty"` // the id of the agent CLI's conversation
	Workdir    string `json:"workdir,omitempty"`
	Generation int    `json:"generation"`

	Dialog *Dialog `json:"dialog,omitempty"`
	// Suspensions contains the open questions that the arm has asked with Coleo's tools. It does not
	// contain the dialog on the screen, which is in the field Dialog.
	Suspensions []Suspension `json:"suspensions,omitempty"`
	Window      *Window      `json:"window,omitempty"` // the window of the agent CLI; nil if the harness opens none
	Mode        string       `json:"mode,omitempty"`   // the id of the agent CLI's mode, as it was last reported
	// Queue is the summary of the arm's queue. It is nil if the queue is empty and has nothing else to
	// report, such as a pause.
	Queue *QueueState `json:"queue,omitempty"`
	// Budget is the newest event about a budget of the arm, or nil if there is none. The event is
	// about the arm's own budget, or about a shared budget that has refused a call of the arm.
	Budget  *BudgetChange `json:"budget,omitempty"`
	Runtime Runtime       `json:"runtime"`
}

// Signals returns the facts from which Summarise computes the health, as far as the arm's row
// contains them. It leaves the field Watch empty.
func (a Arm) Signals() Signals {
	return Signals{
		Status: a.Status, State: a.State,
		PID: a.PID, Port: a.Port, SessionID: a.SessionID, AgentID: a.AgentID,
		Workdir: a.Workdir, Task: a.CurrentTaskID,
		Asks:         len(a.Suspensions) > 0,
		LastActivity: a.LastActivityAt, LastHeartbeat: a.LastHeartbeat, LastOutput: a.LastOutputAt,
	}
}

// StatusIn returns the status of the arm for the given state of its session. Usually, this is
// StatusOf(s). There are two exceptions if the session is idle or busy:
//   - An arm that waits for the approval of its plan keeps the status StatusPlanningBlocked.
//   - An arm whose queue is paused has the status StatusPaused, even if its session works.
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

// SpawnConfig returns the configuration of the arm's last start. It is empty if the arm has never been started.
// Parts that cannot be read are empty. Use DecodeConfig if the configuration is stored again.
func (a Arm) SpawnConfig() SpawnConfig {
	c, _ := a.DecodeConfig()
	return c
}

// DecodeConfig returns the same configuration as SpawnConfig. It returns EInternal if a part cannot be read.
func (a Arm) DecodeConfig() (c SpawnConfig, err error) {
	if len(a.Config) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(a.Config, &c); err != nil {
		return c, Errorf(EInternal, "read the configuration of arm %s: %v", a.Name, err)
	}
	return c, nil
}

// UnmarshalJSON decodes a configuration. It keeps the fields that only a newer Coleo knows in c.Newer. The key of such
// a field is its path, for example "sandbox.kind". So a configuration loses nothing if this version stores it again.
func (c *SpawnConfig) UnmarshalJSON(data []byte) error {
	type plain SpawnConfig // has no methods
	p := plain(*c)
	p.Newer = nil
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	err := strict.Decode(&p)
	if err != nil {
		p.Newer = map[string]json.RawMessage{}
		err = json.Unmarshal(data, &p)
		addUnknown(p.Newer, "", data, reflect.TypeFor[plain]())
	}
	*c = SpawnConfig(p)
	return err
}

// MarshalJSON encodes a configuration, with the fields in c.Newer. If the object above such a field is gone, for
// example because there is no sandbox any more, MarshalJSON leaves the field out.
func (c SpawnConfig) MarshalJSON() ([]byte, error) {
	type plain SpawnConfig
	out, err := json.Marshal(plain(c))
	for path, value := range c.Newer {
		if err == nil {
			out, err = setField(out, strings.Split(path, "."), value)
		}
	}
	return out, err
}

// CheckKnown returns EUnsupported if the configuration has fields that only a newer Coleo knows. No arm may start with
// it, because such a field may be a protection, for example a part of the sandbox.
func (c SpawnConfig) CheckKnown() error {
	if len(c.Newer) == 0 {
		return nil
	}
	return Errorf(EUnsupported, "nothing was started: a newer version of coleo has stored the arm's configuration, and "+
		"this version does not know its %s: use the newer version, or start a new arm",
		strings.Join(slices.Sorted(maps.Keys(c.Newer)), ", "))
}

// addUnknown adds the fields of a JSON object that the type t does not have, each under its path.
func addUnknown(to map[string]json.RawMessage, above string, object json.RawMessage, t reflect.Type) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return
	}
	for key, value := range fields {
		of, known := fieldType(t, key)
		if !known {
			to[above+key] = value
		} else if of.Kind() == reflect.Struct {
			addUnknown(to, above+key+".", value, of)
		}
	}
}

// fieldType returns the type of the field of t with the given key in JSON. For a pointer, it is the type of the value.
func fieldType(t reflect.Type, key string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !strings.EqualFold(cmp.Or(name, f.Name), key) {
			continue
		}
		if f.Type.Kind() == reflect.Pointer {
			return f.Type.Elem(), true
		}
		return f.Type, true
	}
	return nil, false
}

// setField returns a JSON object in which the field with the given path has the given value.
func setField(object json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	err := json.Unmarshal(object, &fields)
	if err == nil && len(path) > 1 {
		inner, there := fields[path[0]]
		if !there {
			return object, nil
		}
		value, err = setField(inner, path[1:], value)
	}
	if err != nil {
		return nil, err
	}
	fields[path[0]] = value
	return json.Marshal(fields)
}

// NewUUID returns a random UUID (version 4).
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// LocalHost is the id of the host local. This host is serve itself, which drives the arms that have
// no host agent. No host agent has this id.
const LocalHost = "local"

// LocalNote is the message for users about an arm that runs on host local.
const LocalNote = "runs without a host agent: nobody reads it while serve is down"

// Host is a host agent's description of itself and its machine.
type Host struct {
	ID           string    `json:"agentId"` // the host agent's id, which stays the same after a restart
	Hostname     string    `json:"hostname"`
	Platform     string    `json:"platform"` // "linux/amd64"
	Version      string    `json:"version"`  // the version of coleo
	StartedAt    time.Time `json:"startedAt,omitzero"`
	LastSeen     time.Time `json:"lastSeen,omitzero"`
	Capabilities []string  `json:"capabilities"` // the names of the harnesses for which the host agent can run arms
	MaxArms      int       `json:"maxArms"`      // 0 means no limit
}

// Drives reports whether the host agent can run arms of the given harness.
func (h Host) Drives(harness string) bool { return slices.Contains(h.Capabilities, harness) }

// HostInfo is a host agent's description and its present condition.
type HostInfo struct {
	Host
	PID  int  `json:"pid,omitempty"`
	Arms int  `json:"arms"` // the number of live arms
	Live bool `json:"live"` // whether the host agent answers, and has given a sign of life in the last 90 s
	// Behind is true while serve has not read all events that the host agent logged before its last
	// report. Until serve has read them, the rows of the host's arms can be out of date.
	Behind bool `json:"behind,omitempty"`
}

// OnPartition says what happens to an arm while its host agent cannot reach serve.
type OnPartition string

// The values of OnPartition. With both values, the agent CLI continues its work.
const (
	// PartitionRun, the default, lets the host agent type the prompts that it already has.
	PartitionRun OnPartition = "run"
	// PartitionFreeze makes the holder accept keys only during the 10 s after serve has confirmed that
	// no second start (generation) of the arm runs. At all other times, the holder refuses keys.
	PartitionFreeze OnPartition = "freeze"
)

// Valid reports whether p is one of the values above or empty.
func (p OnPartition) Valid() bool { return p == "" || p == PartitionRun || p == PartitionFreeze }
