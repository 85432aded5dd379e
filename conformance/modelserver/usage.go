package modelserver

import "errors"

// Usage contains the numbers of tokens in one request and in its reply. Input includes Cached and
// Written. Output includes Reasoning.
type Usage struct {
	Input     int `json:"input_tokens,omitempty"`     // tokens of the request
	Cached    int `json:"cached_tokens,omitempty"`    // the part of Input that was read from a cache
	Written   int `json:"written_tokens,omitempty"`   // the part of Input that was written to a cache
	Output    int `json:"output_tokens,omitempty"`    // tokens of the reply
	Reasoning int `json:"reasoning_tokens,omitempty"` // the part of Output that is reasoning
}

func (u Usage) check() error {
	switch {
	case min(u.Input, u.Cached, u.Written, u.Output, u.Reasoning) < 0:
		return errors.New("usage: has a negative number of tokens")
	case u.Cached+u.Written > u.Input:
		return errors.New("usage: cached_tokens and written_tokens are parts of input_tokens, and are more than it")
	case u.Reasoning > u.Output:
		return errors.New("usage: reasoning_tokens is a part of output_tokens, and is more than it")
	}
	return nil
}

// usageOf returns the usage that a step of the reply sets. If no step sets it, usageOf estimates one token per
// four bytes. `sentBytes` is the size of the sent texts, thoughts and arguments.
func usageOf(t Turn, steps []Step, sentBytes int) Usage {
	for _, s := range steps {
		if s.Usage != nil {
			return *s.Usage
		}
	}
	return Usage{Input: t.inputTokens(), Output: sentBytes/4 + 1}
}
