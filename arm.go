package coleo

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
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

// NewUUID returns a random UUID (version 4).
func NewUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Labels are words that a person writes on an arm, as keys with values. They are used to select
// arms. An operator token with labels reaches only the arms that have all of these labels.
type Labels map[string]string

// maxLabels is the maximum number of labels of one arm. 16 labels fit into one or two lines of a
// terminal.
const maxLabels = 16

// labelWord matches a valid key or value of a label. A word that ends with '-' does not match.
// Therefore the word KEY- can only be an order to remove the label KEY.
var labelWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

// Check returns EInvalid if there are too many labels, or if a key or value has a bad form.
func (l Labels) Check() error {
	for _, key := range slices.Sorted(maps.Keys(l)) {
		for _, word := range []string{key, l[key]} {
			if !labelWord.MatchString(word) {
				return Errorf(EInvalid, "the label %q has a bad key or value: use 1 to 63 letters, digits, '.', '_', '/' or '-', "+
					"beginning and ending with a letter or digit; nothing was done", key+"="+l[key])
			}
		}
	}
	if len(l) > maxLabels {
		return Errorf(EInvalid, "an arm has at most %d labels, and these are %d; nothing was done", maxLabels, len(l))
	}
	return nil
}

// Has reports whether l includes all of the wanted labels.
func (l Labels) Has(wanted Labels) bool {
	for key, value := range wanted {
		if got, ok := l[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// String returns the labels as KEY=VALUE, separated by commas and sorted by key.
func (l Labels) String() string {
	words := make([]string, 0, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		words = append(words, key+"="+l[key])
	}
	return strings.Join(words, ",")
}

// ParseLabels parses words of the form KEY=VALUE. It returns EInvalid for any other form, and for a
// repeated key.
func ParseLabels(words []string) (Labels, error) {
	change, err := ParseLabelChange(words)
	if err == nil && len(change.Remove) > 0 {
		err = Errorf(EInvalid, "%q is not a label: write KEY=VALUE", change.Remove[0]+"-")
	}
	return change.Set, err
}

// LabelChange says which labels of an arm to set, and which keys to remove.
type LabelChange struct {
	Set    Labels   `json:"set,omitempty" doc:"Labels to add or to replace"`
	Remove []string `json:"remove,omitempty" doc:"Keys of labels to remove; a key that the arm lacks is no error"`
}

// ParseLabelChange parses the words of a change. A word of the form KEY=VALUE sets a label, and a
// word of the form KEY- removes a label. ParseLabelChange returns EInvalid for any other form, and
// for a repeated key.
func ParseLabelChange(words []string) (LabelChange, error) {
	var c LabelChange
	for _, word := range words {
		key, value, set := strings.Cut(word, "=")
		bare, removed := strings.CutSuffix(word, "-")
		if !set {
			key = bare
		}
		switch _, twice := c.Set[key]; {
		case twice, slices.Contains(c.Remove, key):
			return c, Errorf(EInvalid, "the label %q is given twice", key)
		case set:
			if c.Set == nil {
				c.Set = Labels{}
			}
			c.Set[key] = value
		case removed:
			c.Remove = append(c.Remove, key)
		default:
			return c, Errorf(EInvalid, "%q is not a label: write KEY=VALUE to set one, or KEY- to remove one", word)
		}
	}
	return c, c.Set.Check()
}

// Apply returns the labels after the change. It returns EInvalid if a label has a bad form, or if
// the change leads to too many labels. It does not change its argument.
func (c LabelChange) Apply(l Labels) (Labels, error) {
	if err := c.Set.Check(); err != nil {
		return l, err
	}
	next := maps.Clone(l)
	for _, key := range c.Remove {
		delete(next, key)
	}
	if next == nil {
		next = Labels{}
	}
	maps.Copy(next, c.Set)
	return next, next.Check()
}

// Selector selects arms by their labels. It selects the arms that meet all of its conditions. An
// empty Selector selects every arm.
type Selector []labelCondition

// labelCondition is a condition on the label with one key.
type labelCondition struct {
	key, value string
	anyValue   bool // whether the condition is about the key only, so that any value fits
	negated    bool
}

// ParseSelector parses words. Each word contains one or several conditions, separated by commas:
//
//   - KEY=VALUE or KEY==VALUE: the arm has this label.
//   - KEY!=VALUE: the arm does not have this label. An arm without the key also meets this condition.
//   - KEY or !KEY: the arm has the key, or lacks it.
//
// ParseSelector returns EInvalid for any other form, and for an empty condition. Therefore an empty
// shell variable never selects every arm.
func ParseSelector(words []string) (Selector, error) {
	var out Selector
	for _, text := range words {
		for word := range strings.SplitSeq(text, ",") {
			one, ok := parseCondition(strings.TrimSpace(word))
			if !ok {
				return nil, Errorf(EInvalid, "the selector %q has the bad condition %q: write KEY=VALUE, KEY!=VALUE, KEY or !KEY, "+
					"separated by commas; nothing was done", text, word)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func parseCondition(word string) (labelCondition, bool) {
	key, value, valued := strings.Cut(word, "=")
	c := labelCondition{key: key, value: value, anyValue: !valued}
	if valued {
		c.value = strings.TrimPrefix(value, "=")
		if c.key, c.negated = strings.CutSuffix(key, "!"); c.negated {
			c.value = value
		}
	} else {
		c.key, c.negated = strings.CutPrefix(key, "!")
	}
	c.key, c.value = strings.TrimSpace(c.key), strings.TrimSpace(c.value)
	return c, labelWord.MatchString(c.key) && (c.anyValue || labelWord.MatchString(c.value))
}

// Selects reports whether labels meet all conditions.
func (s Selector) Selects(l Labels) bool {
	return !slices.ContainsFunc(s, func(c labelCondition) bool {
		value, has := l[c.key]
		return (has && (c.anyValue || value == c.value)) == c.negated
	})
}

// Labelled is the payload of an arm.labels event.
type Labelled struct {
	Labels map[string]string `json:"labels"` // all labels of the arm after the change
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
