package claudecode

import (
	"context"
	"maps"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
)

// costs contains the fields that Coleo reads of a reply in the transcript (2.1.329).
type costs struct {
	Type    string `json:"type"`
	Message struct {
		ID    string  `json:"id"`
		Usage *tokens `json:"usage"`
	} `json:"message"`
}

// tokens contains the token counts of one reply.
type tokens struct {
	Input   int `json:"input_tokens"` // tokens of the request that were in no cache
	Written int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (t tokens) usage() coleo.Usage {
	return coleo.Usage{
		Input: t.Input + t.Written + t.Read, Cached: t.Read, Written: t.Written, Output: t.Output,
		Reasoning: t.Details.Thinking,
	}
}

// usage adds up the usage of the conversation's replies. Claude Code writes one line for each part of a
// reply, and each of these lines repeats the tokens of the whole reply. So usage counts only the last line
// of each reply.
func usage(_ context.Context, f terminal.Facts) (coleo.Usage, error) {
	path := transcript(f)
	if path == "" {
		return coleo.Usage{}, nil
	}
	replies := map[string]coleo.Usage{}
	err := terminal.EachEntry(path, func(l costs) {
		if u := l.Message.Usage; l.Type == "assistant" && u != nil {
			replies[l.Message.ID] = u.usage()
		}
	})
	return coleo.SumUsage(maps.Values(replies)), err
}
