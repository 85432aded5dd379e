package bus

import "coleo.dev"

// ParkedAt names one alternative of one parking of an arm. The host agent refuses an order if the
// parking has ended or the alternative was already tried. So serve can repeat an order.
type ParkedAt struct {
	Run  string        `json:"run"` // Parked.Run
	Try  int           `json:"try"` // Parked.Try
	Step coleo.OnLimit `json:"step"`
}

// AlternativeOrder makes a parked arm continue with another model, or says why an alternative
// failed.
type AlternativeOrder struct {
	Arm string   `json:"arm"`
	At  ParkedAt `json:"at"`
	// Failed says why the alternative failed. The arm then tries the next one, or waits. If Failed
	// is set, Model and Spawn are empty.
	Failed string `json:"failed,omitempty"`
	Model  string `json:"model,omitempty"` // PROVIDER/MODEL or MODEL
	// Spawn is used if the agent CLI takes a model only at its start: it starts the agent CLI
	// again. It is nil if the agent CLI cannot resume the conversation.
	Spawn *SpawnOrder `json:"spawn,omitempty"`
}

// OnLimitOrder changes what an arm does at a limit.
type OnLimitOrder struct {
	Arm     string        `json:"arm"`
	OnLimit coleo.OnLimit `json:"on_limit"` // not ""
}

// OnLimitReport says what an arm does at a limit, and what the user has chosen for it.
type OnLimitReport struct {
	coleo.OnLimitReport
	Chosen *coleo.Chosen `json:"chosen,omitempty"`
}
