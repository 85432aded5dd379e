package main

import (
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/cost"
)

// allCosts makes TestTheCostOfARealAgentCLIIsThatOfTheModelsRecord run all agent CLIs. `make costs` sets this
// flag.
var allCosts = flag.Bool("all-costs", false, "compare the costs of all agent CLIs that report tokens")

// reporter is an agent CLI that reports its model's tokens.
type reporter struct {
	harness, command, model string
	price                   coleo.Rates     // price of the model, as its vendor publishes it
	tier                    coleo.PriceTier // price of a large call; if zero, the test makes no large call
	noWritten               bool            // the agent CLI does not report which tokens were written to a cache
	titles                  bool            // the agent CLI requests titles, and does not report their tokens
	summaries               bool            // the large call causes a compaction, whose tokens the agent CLI reports
	subagent                subagentCall    // starts a subagent; empty if the tokens of subagents are not reported
	estimates               bool            // the agent CLI estimates all tokens itself
	quick                   bool            // CI also runs this agent CLI
}

// These models have no price for cache writes, so such tokens cost as much as other input tokens.
var (
	sonnet = coleo.Rates{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	gpt5   = coleo.Rates{Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25}
	gpt56  = coleo.Rates{Input: 4, Output: 20, CacheRead: 0.4, CacheWrite: 5}
	pro    = coleo.Rates{Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25}
)

// subagentCall is a tool call that starts a subagent with the prompt "count the files".
type subagentCall struct {
	tool      string
	arguments map[string]any
	requests  int  // after the prompt that starts the subagent, the arm and its subagent send at least this many
	notice    bool // when the subagent has ended, the model receives a notice, in a new turn or in the running one
}

// opencodeTask starts a subagent of OpenCode.
var opencodeTask = subagentCall{"task", map[string]any{"description": "count", "prompt": "count the files",
	"subagent_type": "general"}, 3, false}

// claudeAgent starts a subagent of Claude Code or Qwen Code, which works in the background. When
// the subagent has ended, the arm's model receives a notice with its answer. Usually the notice
// begins a new turn. If the arm's turn still runs, the notice can be part of its next request
// instead. So the test waits until the model's record contains the notice.
func claudeAgent(tool string, requests int, notice bool) subagentCall {
	return subagentCall{tool, map[string]any{"description": "count", "prompt": "count the files",
		"subagent_type": "general-purpose"}, requests, notice}
}

var reporters = []reporter{
	{harness: "claude-code", command: "claude", model: "claude-sonnet-4-5", price: sonnet, quick: true,
		subagent: claudeAgent("Agent", 3, true)},
	{harness: "codex", command: "codex", model: "gpt-5.6", price: gpt56, titles: true, summaries: true, quick: true,
		subagent: subagentCall{"spawn_agent", map[string]any{"message": "count the files"}, 3, false},
		tier:     coleo.PriceTier{Above: 272_000, Rates: coleo.Rates{Input: 8, Output: 30, CacheRead: 0.8, CacheWrite: 10}}},
	{harness: "gemini", command: "gemini", model: "gemini-2.5-pro", price: pro, quick: true,
		subagent: subagentCall{"invoke_agent", map[string]any{"agent_name": "codebase_investigator",
			"prompt": "count the files"}, 4, false}, // 4 requests, because this subagent needs one more request to end
		tier: coleo.PriceTier{Above: 200_000, Rates: coleo.Rates{Input: 2.5, Output: 15, CacheRead: 0.25, CacheWrite: 2.5}}},
	{harness: "opencode", command: "opencode", model: "gpt-5", price: gpt5, noWritten: true, titles: true, quick: true,
		subagent: opencodeTask},
	{harness: "opencode-api", command: "opencode", model: "gpt-5", price: gpt5, noWritten: true, titles: true,
		subagent: opencodeTask},
	{harness: "aider", command: "aider", model: "gpt-5", price: gpt5, estimates: true, quick: true},
	{harness: "qwen", command: "qwen", model: "gpt-5", price: gpt5, noWritten: true,
		subagent: claudeAgent("agent", 3, true)},
	{harness: "copilot", command: "copilot", model: "gpt-5.6", price: gpt56,
		subagent: subagentCall{"task", map[string]any{"agent_type": "explore", "description": "count", "name": "count",
			"prompt": "count the files"}, 3, false}},
	{harness: "kilo", command: "kilo", model: "gpt-5", price: gpt5, noWritten: true, titles: true,
		subagent: opencodeTask},
}

// TestTheCostOfARealAgentCLIIsThatOfTheModelsRecord makes each agent CLI work for several turns. They include a
// tool call, reasoning, and tokens that are read from a cache and written to it. `coleo cost` must then report
// the same cost as the model's record.
func TestTheCostOfARealAgentCLIIsThatOfTheModelsRecord(t *testing.T) {
	t.Parallel()
	for _, r := range reporters {
		if !r.quick && !*allCosts {
			continue // `make costs` runs this case
		}
		t.Run(r.harness, func(t *testing.T) {
			t.Parallel()
			needAgent(t, r.harness, r.command)
			l := newLiveOf(t, r.harness, "--model", r.model, "--permission-mode", "all", "--yes-without-sandbox")
			l.worksForMoney(r)
			var told cost.Report
			until(t, "the tokens of all replies are told", func() bool { // a subagent can continue after the turn
				told = decode[cost.Report](l.world, "cost", "--by", "arm,model")
				want, _ := l.recorded(r)
				return r.estimates || len(told.Rows) > 0 && told.Rows[0].Calls >= want.Calls
			})
			if len(told.Rows) != 1 || told.Rows[0].By[cost.ByArm] != l.name || told.Rows[0].By[cost.ByModel] != r.model {
				t.Fatalf("the rows are %+v", told.Rows)
			}
			l.checkCost(r, told.Rows[0].Amount)
		})
	}
}

// worksForMoney makes the agent CLI work for three turns. The model reports tokens of each kind.
func (l *live) worksForMoney(r reporter) {
	l.t.Helper()
	yes, no := true, false
	large := modelserver.Usage{Input: 24_000, Cached: 21_000, Output: 1_200, Reasoning: 500}
	if r.tier.Above > 0 {
		large = modelserver.Usage{Input: r.tier.Above + 1_000, Cached: 21_000, Output: 2_000}
	}
	prompts := []string{"please look at the date", "please go on", "please read all"}
	if r.subagent.tool != "" {
		prompts = append(prompts, "please delegate it")
	}
	rules := []modelserver.Rule{
		{Name: "delegates", When: modelserver.When{Contains: "delegate", ToolResult: &no}, Reply: []modelserver.Step{
			{Tool: &modelserver.Call{Name: r.subagent.tool, Args: r.subagent.arguments}},
			{Usage: &modelserver.Usage{Input: 25_000, Cached: 24_000, Output: 300}}}},
		{Name: "delegated", When: modelserver.When{Contains: "delegate", ToolResult: &yes}, Reply: []modelserver.Step{
			{Text: "There are three."}, {Usage: &modelserver.Usage{Input: 26_000, Cached: 24_000, Output: 200}}}},
		{Name: "subagent", When: modelserver.When{Contains: "count the files"}, Reply: []modelserver.Step{
			{Text: "Three."}, {Usage: &modelserver.Usage{Input: 50_000, Cached: 1_000, Output: 4_000}}}},
		{Name: "calls", When: modelserver.When{Contains: "look at", ToolResult: &no}, Reply: []modelserver.Step{
			{Thinking: "I must look at the date."}, {Text: "I will look."},
			{Tool: &modelserver.Call{Does: modelserver.Run, Args: map[string]any{"command": "date"}}},
			{Usage: &modelserver.Usage{Input: 21_000, Written: 18_000, Output: 700, Reasoning: 400}}}},
		{Name: "ends", When: modelserver.When{Contains: "look at", ToolResult: &yes}, Reply: []modelserver.Step{
			{Text: "It has a date."},
			{Usage: &modelserver.Usage{Input: 22_000, Cached: 18_000, Written: 3_000, Output: 900}}}},
		{Name: "goes on", When: modelserver.When{Contains: "go on"}, Reply: []modelserver.Step{
			{Thinking: "I have to think."}, {Text: "I have gone on."},
			{Usage: &modelserver.Usage{Input: 24_000, Cached: 21_000, Output: 1_200, Reasoning: 500}}}},
		{Name: "large", When: modelserver.When{Contains: "read all"}, Reply: []modelserver.Step{
			{Text: "I have read it."}, {Usage: &large}}},
	}
	if r.subagent.tool == "" {
		rules = slices.DeleteFunc(rules, func(r modelserver.Rule) bool { return r.Name == "delegates" })
	}
	l.check(l.model.SetScript(modelserver.Script{Rules: rules}))
	before := 0
	for _, prompt := range prompts {
		calls, _ := l.recorded(r)
		before = calls.Calls
		if end := decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", prompt); end.Outcome !=
			coleo.OutcomeFinished {
			l.t.Fatalf("%s: the run ended %+v", prompt, end)
		}
	}
	defer func() {
		if l.t.Failed() {
			calls, _ := l.recorded(r)
			arm := l.arm(l.name)
			l.t.Logf("the model was asked %d times (%d before the last prompt, a notice: %v); the arm is %s by %q, "+
				"and its screen is\n%s", calls.Calls, before, l.noticed(), arm.State, arm.Rule, l.run("arm", "screen", l.name).out)
			for _, q := range l.model.Record() {
				l.t.Logf("prompt %.60q, rule %q, side %q, notices %d, tool result %v, done %v", q.Prompt, q.Rule, q.Side, q.Notices,
					q.HasToolResult, q.Done)
			}
		}
	}()
	until(l.t, "the subagent has done its work", func() bool {
		calls, _ := l.recorded(r)
		return calls.Calls >= before+r.subagent.requests && (!r.subagent.notice || l.noticed()) &&
			l.arm(l.name).State == coleo.Idle
	})
}

// noticed reports whether the model has received and answered the notice that a subagent has ended.
func (l *live) noticed() bool {
	const qwenNotice = "<task-notification>" // Qwen Code sends the notice as a user's message
	return slices.ContainsFunc(l.model.Record(), func(q modelserver.Request) bool {
		told := slices.ContainsFunc(q.Texts, func(text string) bool { return strings.Contains(text, qwenNotice) })
		return q.Done && (q.Notices > 0 || told)
	})
}

// checkCost compares the cost that `coleo cost` reported, the parameter `told`, with the model's
// record.
func (l *live) checkCost(r reporter, told cost.Amount) {
	t := l.t
	t.Helper()
	if r.estimates {
		if told.Estimated != told.Input+told.Output || told.Input == 0 ||
			!slices.Equal(told.TokensFrom, []string{"account"}) {
			t.Errorf("the tokens are told %+v, want an estimate", told)
		}
		return
	}
	want, besides := l.recorded(r)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/100 {
			t.Errorf("%s: told are %g, and %g by the model's record", what, got, want)
		}
	}
	near("calls", float64(told.Calls), float64(want.Calls))
	near("input", float64(told.Input), float64(want.Input))
	near("cached", float64(told.Cached), float64(want.Cached))
	near("written", float64(told.Written), float64(want.Written))
	near("output", float64(told.Output), float64(want.Output))
	near("reasoning", float64(told.Reasoning), float64(want.Reasoning))
	near("dollars", told.Dollars, want.Dollars)
	if want.Calls < 4 || want.Dollars == 0 || told.Unpriced != 0 || told.Estimated != 0 ||
		told.Parts[coleo.PriceBuiltIn] != told.Dollars || !slices.Equal(told.TokensFrom, []string{"transcript"}) {
		t.Errorf("told is %+v, want %+v", told, want)
	}
	if text := l.must("cost"); !strings.Contains(text, "not counted: ") || r.titles && !strings.Contains(text, "titles") {
		t.Errorf("coleo cost does not say what it lacks:\n%s", text)
	}
	if besides.Calls > 0 && !r.titles {
		t.Errorf("it has made %d side requests with %d tokens, which it does not report", besides.Calls, besides.Input)
	}
	t.Logf("$%.6f told, $%.6f by the model's record; side requests that are not told: %d with %d and %d tokens, $%.6f",
		told.Dollars, want.Dollars, besides.Calls, besides.Input, besides.Output, besides.Dollars)
}

// recorded adds up the tokens that the model has reported to the agent CLI. `prompts` is the sum
// for the turns of prompts. `besides` is the sum for requests that the agent CLI makes for itself,
// such as for a title.
func (l *live) recorded(r reporter) (prompts, besides cost.Amount) {
	for _, q := range l.model.Record() {
		if q.Prompt == "" && q.Side == "" {
			continue
		}
		to := &prompts
		if q.Side != "" && (!r.summaries || q.Side != modelserver.SideSummary) {
			to = &besides
		}
		rates := r.price
		if r.tier.Above > 0 && q.Input >= r.tier.Above {
			rates = r.tier.Rates
		}
		fresh := q.Input - q.Cached - q.Written
		to.Dollars += (float64(fresh)*rates.Input + float64(q.Cached)*rates.CacheRead +
			float64(q.Written)*rates.CacheWrite + float64(q.Output)*rates.Output) / 1e6
		if r.noWritten {
			q.Written = 0
		}
		to.Calls++
		to.Input, to.Cached, to.Written = to.Input+q.Input, to.Cached+q.Cached, to.Written+q.Written
		to.Output, to.Reasoning = to.Output+q.Output, to.Reasoning+q.Reasoning
	}
	return prompts, besides
}
