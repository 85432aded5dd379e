package coleo

import (
	"context"
	"iter"
	"time"
)

// Usage is the number of tokens that a conversation has used so far, as the agent CLI counts them.
// Some agent CLIs do not count their side requests, such as a request for a title.
type Usage struct {
	Input     int     `json:"input_tokens"`             // the number of tokens sent, including those from a cache
	Cached    int     `json:"cached_tokens"`            // the part of Input that came from a cache
	Written   int     `json:"written_tokens,omitempty"` // the part of Input that was written to a cache, if reported
	Output    int     `json:"output_tokens"`            // tokens received, including reasoning
	Reasoning int     `json:"reasoning_tokens"`         // the part of Output that is reasoning, if reported separately
	Cost      float64 `json:"cost,omitempty"`           // the cost in US dollars; 0 if not reported
	Source    string  `json:"source"`                   // "transcript", "account" or "http"

	// Approximate means that the agent CLI has estimated the numbers of tokens. Otherwise the model
	// has reported them.
	Approximate bool `json:"approximate,omitempty"`
}

// Total returns the number of tokens sent plus the number of tokens received.
func (u Usage) Total() int { return u.Input + u.Output }

// SumUsage returns the sum of a list of Usages. The fields Source and Approximate of the sum are
// not set.
func SumUsage(list iter.Seq[Usage]) Usage {
	var sum Usage
	for u := range list {
		sum.Input, sum.Cached, sum.Written = sum.Input+u.Input, sum.Cached+u.Cached, sum.Written+u.Written
		sum.Output, sum.Reasoning = sum.Output+u.Output, sum.Reasoning+u.Reasoning
		sum.Cost += u.Cost
	}
	return sum
}

// Minus returns the difference between u and an earlier Usage of the same conversation.
func (u Usage) Minus(earlier Usage) Usage {
	u.Input, u.Cached, u.Written = u.Input-earlier.Input, u.Cached-earlier.Cached, u.Written-earlier.Written
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

// PriceSource names the source of a price. The log stores sources, so the meaning of a source must
// never change.
type PriceSource string

// The sources of prices, from the highest priority to the lowest.
const (
	PriceOverride  PriceSource = "override"  // the user's config.toml
	PriceCatalog   PriceSource = "catalog"   // the agent CLI's own catalogue of models
	PriceRefreshed PriceSource = "refreshed" // the price list that 'coleo models refresh' has fetched
	PriceBuiltIn   PriceSource = "built-in"  // the price list that is a part of Coleo
	PriceBook      PriceSource = "book"      // the six prices of Coleo's published specification
	PriceUnknown   PriceSource = "unknown"   // there is no source, so the figures are only a guess
)

// Price is the price of a model, in US dollars per million tokens.
type Price struct {
	Rates
	Tiers  []PriceTier `json:"tiers,omitempty"` // the rates of large calls; the tier with the smallest bound comes first
	Source PriceSource `json:"source"`
	Date   string      `json:"date,omitempty"` // the date of the source, as 2026-01-31; "" if unknown
}

// Rates are the rates of one price. If a source gives no rates for caches, CacheRead and CacheWrite
// are the same as Input.
type Rates struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`  // the rate for input tokens that came from a cache
	CacheWrite float64 `json:"cache_write"` // the rate for input tokens that were written to a cache
}

// PriceTier contains the rates of large calls.
type PriceTier struct {
	Above int `json:"above"` // the rates apply to a call with at least this number of input tokens
	Rates
}

// Of returns the cost of the usage u in US dollars. The parameter callTokens determines the tier.
// It is the number of input tokens of each call, or a lower bound of this number.
func (p Price) Of(u Usage, callTokens int) float64 {
	rates := p.Rates
	for _, tier := range p.Tiers {
		if callTokens >= tier.Above {
			rates = tier.Rates
		}
	}
	const million = 1e6
	fresh := max(u.Input-u.Cached-u.Written, 0)
	return (float64(fresh)*rates.Input + float64(u.Cached)*rates.CacheRead + float64(u.Written)*rates.CacheWrite +
		float64(u.Output)*rates.Output) / million
}

// contextSteps contains the bounds of the tiers in the vendors' price lists, in input tokens.
var contextSteps = []int{32_000, 64_000, 128_000, 200_000, 256_000, 272_000, 512_000}

// ContextStep returns the largest value of contextSteps that a call with the given number of input
// tokens reaches. It returns 0 if the call reaches none. Calls with the same step have the same
// price.
func ContextStep(tokens int) int {
	step := 0
	for _, s := range contextSteps {
		if tokens >= s {
			step = s
		}
	}
	return step
}

// UsageEntry is the usage of one arm, one model, one hour and one run, according to one source.
// Usage.Cost is the cost that the agent CLI has reported.
type UsageEntry struct {
	Arm      string    `json:"arm"`
	ArmName  string    `json:"arm_name"`
	Run      string    `json:"run,omitempty"` // the id of the run; "" if the usage belongs to no run
	Harness  string    `json:"harness"`
	Project  string    `json:"project"` // the arm's work folder
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model"` // the name of the model, as the agent CLI reports it
	Hour     time.Time `json:"hour"`  // the beginning of the hour, in UTC
	Context  int       `json:"context"`
	Reported bool      `json:"reported"` // whether the agent CLI has reported the cost of the calls
	// the number of replies of the model, or of turns if the source reports only turns
	Calls int `json:"calls"`
	Usage
}

// ReportedWork says which work of an agent CLI appears in the events of its runs. Only for this work,
// the conformance suite compares the events with the record of the model server.
// docs/harness-reference.md repeats the comments on the fields.
type ReportedWork struct {
	// If this key is `true`, the events report each tool call, with its end and its outcome.
	Calls bool `toml:"calls"`
	// If this key is `true`, the agent CLI asks the model again after a call whose arguments are not
	// JSON. It does not carry out this malformed call, so the call has no end.
	RepeatsMalformed bool `toml:"repeats_malformed"`
	// If this key is `true`, the events report each text of the model.
	Texts bool `toml:"texts"`
	// If this key is `true`, the events report the tokens of each reply during the turn. Without
	// this key, an arm of this harness cannot have a budget that stops it.
	Usage bool `toml:"usage"`
	// The model calls whose tokens the agent CLI does not report, in a few words, such as `titles`.
	// `coleo cost` shows these words.
	Uncounted string `toml:"uncounted"`
	// The agent CLI's own name for the tool with which the model starts a subagent. Without this
	// key, the agent CLI has no subagents, or the events do not report them.
	SubagentTool string `toml:"subagent_tool"`
	// The arguments of `subagent_tool`, as a JSON object. `{{.Task}}` stands for the task of the
	// subagent. The key is required with `subagent_tool`.
	SubagentInput string `toml:"subagent_input"`
}
