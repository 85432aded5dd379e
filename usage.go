package coleo

import (
	"context"
	"iter"
)

// Usage is what a conversation has taken of its model so far, by the agent
// CLI's own account. Side requests of the agent CLI, for a title for example,
// may be missing in it.
type Usage struct {
	Input     int     `json:"input_tokens"`     // sent, those that came out of a cache included
	Cached    int     `json:"cached_tokens"`    // of Input, those that came out of a cache
	Output    int     `json:"output_tokens"`    // received, those of reasoning included
	Reasoning int     `json:"reasoning_tokens"` // of Output, those of reasoning, where they are told apart
	Cost      float64 `json:"cost,omitempty"`   // US dollars; 0 when it is not told
	Source    string  `json:"source"`           // "transcript", "account" or "http"

	// Approximate is set where the agent CLI guesses: it counts words its own way
	// instead of asking the model what it has counted.
	Approximate bool `json:"approximate,omitempty"`
}

// Total is all tokens, sent and received.
func (u Usage) Total() int { return u.Input + u.Output }

// SumUsage adds up accounts of single replies.
func SumUsage(list iter.Seq[Usage]) Usage {
	var sum Usage
	for u := range list {
		sum.Input, sum.Cached = sum.Input+u.Input, sum.Cached+u.Cached
		sum.Output, sum.Reasoning = sum.Output+u.Output, sum.Reasoning+u.Reasoning
		sum.Cost += u.Cost
	}
	return sum
}

// Minus is what was taken after an earlier account.
func (u Usage) Minus(earlier Usage) Usage {
	u.Input, u.Cached = u.Input-earlier.Input, u.Cached-earlier.Cached
	u.Output, u.Reasoning = u.Output-earlier.Output, u.Reasoning-earlier.Reasoning
	u.Cost -= earlier.Cost
	return u
}

// UsageMeter is a session that can tell what its conversation has taken.
// Errors: EUnsupported when the agent CLI keeps no account.
type UsageMeter interface {
	Usage(ctx context.Context) (Usage, error)
}
