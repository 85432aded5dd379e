package wire

import "coleo.dev"

// Modes is the reply to a request for an arm's modes.
type Modes struct {
	Mode string       `json:"mode,omitempty" doc:"Id of the mode that was seen last; empty if none was seen"`
	List []coleo.Mode `json:"modes" doc:"All modes of the agent CLI, in the order of the harness"`
}
