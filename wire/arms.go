package wire

import (
	"time"

	"coleo.dev"
)

// LeaseRequest takes, renews or releases the lease of an arm: the right to type by
// hand.
type LeaseRequest struct {
	ID      string `json:"id,omitempty"`     // the id of the lease to renew or release; "" to take a new lease
	Holder  string `json:"holder,omitempty"` // the name of the lease's owner, for users
	Release bool   `json:"release,omitempty"`
}

// LastRun is the newest ended run of an arm.
type LastRun struct {
	Run  string    `json:"run"`
	Time time.Time `json:"time"` // when the run ended
	coleo.RunEnd
}
