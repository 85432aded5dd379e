package coleo

import (
	"context"
	"iter"
)

// Usage is how many tokens a conversation has used so far, as counted by the agent CLI.
// The count can lack side requests of the agent CLI, such as a request for a title.
type Usage struct {
	Input     int     `json:"input_tokens"`     // tokens sent, including those from a cache
	Cached    int     `json:"cached_tokens"`    // the part of Input that came from a cache
	Output    int     `json:"output_tokens"`    // tokens received, including reasoning
	Reasoning int     `json:"reasoning_tokens"` // the part of Output that is reasoning, if reported separately
	Cost      float64 `json:"cost,omitempty"`   // US dollars; 0 if not reported
	Source    string  `json:"source"`           // "transcript", "account" or "http"

	// Approximate means that the agent CLI has estimated the numbers of tokens. They do
	// not come from the model.
	Approximate bool `json:"approximate,omitempty"`
}

// Total returns the number of tokens sent plus the number of tokens received.
func (u Usage) Total() int { return u.Input + u.Output }

// SumUsage returns the sum of the usages in list, one for each reply. The sum has no
// Source and no Approximate.
func SumUsage(list iter.Seq[Usage]) Usage {
	var sum Usage
	for u := range list {
		sum.Input, sum.Cached = sum.Input+u.Input, sum.Cached+u.Cached
		sum.Output, sum.Reasoning = sum.Output+u.Output, sum.Reasoning+u.Reasoning
		sum.Cost += u.Cost
	}
	return sum
}

// Minus returns u minus earlier, which must be an older Usage of the same conversation.
func (u Usage) Minus(earlier Usage) Usage {
	u.Input, u.Cached = u.Input-earlier.Input, u.Cached-earlier.Cached
	u.Output, u.Reasoning = u.Output-earlier.Output, u.Reasoning-earlier.Reasoning
	u.Cost -= earlier.Cost
	return u
}

// UsageMeter is a session that can report the usage of its conversation.
type UsageMeter interface {
	// Usage returns the usage of the conversation so far. It returns EUnsupported if
	// the agent CLI does not count tokens.
	Usage(ctx context.Context) (Usage, error)
}
