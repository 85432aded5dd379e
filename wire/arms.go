package wire

import (
	"time"

	"coleo.dev"
)

// LeaseRequest takes, renews or releases the right to type by hand.
type LeaseRequest struct {
	ID      string `json:"id,omitempty"`     // if empty, take a new lease
	Holder  string `json:"holder,omitempty"` // the name of the owner, as users see it
	Release bool   `json:"release,omitempty"`
}

// LastRun is an arm's most recently ended run.
type LastRun struct {
	Run  string    `json:"run"`
	Time time.Time `json:"time"` // of its end
	coleo.RunEnd
}
