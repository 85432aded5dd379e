package bus

import "coleo.dev"

// ParkedAt names one of the alternatives that a parked arm can try instead of waiting. The host agent
// refuses an order with a ParkedAt in two cases: the arm is no longer parked at this limit, or it has
// already tried this alternative. Therefore serve can repeat an order safely.
type ParkedAt struct {
	Run  string        `json:"run"` // the run that met the limit, as in coleo.Parked
	Try  int           `json:"try"` // the value of Try in the arm's coleo.Parked
	Step coleo.OnLimit `json:"step"`
}

// AlternativeOrder makes a parked arm continue with another model, or reports why an alternative
// failed.
type AlternativeOrder struct {
	Arm string   `json:"arm"`
	At  ParkedAt `json:"at"`
	// Failed is the reason why the alternative failed. The arm then tries the next alternative, or
	// waits. If Failed is set, Model and Spawn are empty.
	Failed string `json:"failed,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL or MODEL
	// Spawn starts the agent CLI again, if the agent CLI accepts a model only at its start. It is
	// nil if the agent CLI cannot resume the conversation.
	Spawn *SpawnOrder `json:"spawn,omitempty"`
}

// OnLimitOrder changes what an arm does at a limit.
type OnLimitOrder struct {
	Arm     string        `json:"arm"`
	OnLimit coleo.OnLimit `json:"on_limit"` // never ""
}

// OnLimitReport contains what an arm does at a limit, and the user's present choices for the arm.
type OnLimitReport struct {
	coleo.OnLimitReport
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}
