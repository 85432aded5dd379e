package coleo

import (
	"context"
	"iter"
)

// Usage is what a conversation has used of its model so far, as counted by the agent CLI.
// It may lack side requests of the agent CLI, for example for a title.
type Usage struct {
	Input     int     `json:"input_tokens"`     // tokens sent, including those from a cache
	Cached    int     `json:"cached_tokens"`    // the part of Input that came from a cache
	Output    int     `json:"output_tokens"`    // tokens received, including reasoning
	Reasoning int     `json:"reasoning_tokens"` // the part of Output that is reasoning, if reported separately
	Cost      float64 `json:"cost,omitempty"`   // US dollars; 0 if not reported
	Source    string  `json:"source"`           // "transcript", "account" or "http"

	// Approximate is set if the agent CLI estimates the tokens itself instead of asking
	// the model.
	Approximate bool `json:"approximate,omitempty"`
}

// Total returns the number of tokens, sent and received.
func (u Usage) Total() int { return u.Input + u.Output }

// SumUsage adds up the usage of single replies. It leaves Source and Approximate unset.
func SumUsage(list iter.Seq[Usage]) Usage {
	var sum Usage
	for u := range list {
		sum.Input, sum.Cached = sum.Input+u.Input, sum.Cached+u.Cached
		sum.Output, sum.Reasoning = sum.Output+u.Output, sum.Reasoning+u.Reasoning
		sum.Cost += u.Cost
	}
	return sum
}

// Minus returns the usage since an earlier Usage of the same conversation.
func (u Usage) Minus(earlier Usage) Usage {
	u.Input, u.Cached = u.Input-earlier.Input, u.Cached-earlier.Cached
	u.Output, u.Reasoning = u.Output-earlier.Output, u.Reasoning-earlier.Reasoning
	u.Cost -= earlier.Cost
	return u
}

// UsageMeter is a session that can report the usage of its conversation.
type UsageMeter interface {
	// Usage returns the usage so far. It returns EUnsupported if the agent CLI does not
	// count tokens.
	Usage(ctx context.Context) (Usage, error)
}
