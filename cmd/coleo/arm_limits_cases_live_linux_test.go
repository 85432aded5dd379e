package main

import (
	"encoding/json"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// reaction is how an agent CLI reacts when its model fails.
type reaction string

const (
	givesUp reaction = "gives up" // the agent CLI ends the turn, and the arm is parked
	retries reaction = "retries"  // the agent CLI retries for longer than the test, and shows that
	waits   reaction = "waits"    // the agent CLI waits for longer than the test, and shows only that it is working
	heals   reaction = "heals"    // the agent CLI gets around the fault with a prompt of its own, and the turn ends
)

// limited is a way in which the model or the network fails, and the expected reactions of the agent
// CLI and the parked arm.
type limited struct {
	name    string
	reply   []modelserver.Step // the model's reply; nil if the network fails instead
	network func(*fakeNetwork) // makes the network fail; nil if the model fails instead
	kind    coleo.LimitKind
	told    bool // the agent CLI shows the time at which the limit ends

	then    reaction
	says    string   // matches the screen when the agent CLI has given up on the network
	compact bool     // the agent CLI compacts the conversation before it gives up
	spawn   []string // further arguments of spawn
	quick   bool     // the case takes less than a minute, and CI runs it
}

// failsAt returns a case in which the model answers with a failure.
func failsAt(name string, kind coleo.LimitKind, f modelserver.Failure) limited {
	return limited{name: name, kind: kind, then: givesUp, reply: []modelserver.Step{{Fail: &f}}}
}

// These are the ways in which a model or the network can fail. limitsOf changes them where an agent
// CLI reacts differently.
var (
	loginLimit = failsAt("login", coleo.LimitLogin,
		modelserver.Failure{Status: 401, Message: "token has expired"})
	contextLimit = failsAt("context", coleo.LimitContext,
		modelserver.Failure{Status: 400, Message: "prompt is too long: 250000 tokens > 200000 maximum"})
	overloadLimit = failsAt("overload", coleo.LimitOverload,
		modelserver.Failure{Status: 529, Message: "Overloaded"})
	rateLimit = failsAt("rate", coleo.LimitRate,
		modelserver.Failure{Status: 429, Message: "Rate limit reached for mock-1"})
	// toldLimit says in its text when the limit ends. afterLimit says it in the header Retry-After.
	toldLimit = failsAt("rate with a time", coleo.LimitRate,
		modelserver.Failure{Status: 429, Message: "Rate limit reached. Please try again in 6m0s."}).passedOn()
	afterLimit = failsAt("rate with a header", coleo.LimitRate,
		modelserver.Failure{Status: 429, RetryAfter: 360, Message: "Rate limit reached for mock-1"})
	quotaLimit = failsAt("quota with a time", coleo.LimitQuota,
		modelserver.Failure{Status: 429, Message: "You've hit your limit · resets 3am (Europe/Berlin)"}).passedOn()
	// planLimit is the reply with which OpenAI's servers refuse a request when a plan is used up.
	planLimit = failsAt("plan", coleo.LimitQuota, modelserver.Failure{Status: 429, Body: json.RawMessage(fmt.Sprintf(
		`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",`+
			`"resets_at":%d,"resets_in_seconds":7200}}`, time.Now().Add(2*time.Hour).Unix()))}).passedOn()

	refusedLimit = limited{name: "refused", network: (*fakeNetwork).refuse, kind: coleo.LimitNetwork, then: givesUp}
	// hangingLimit accepts connections and sends nothing.
	hangingLimit = limited{name: "hanging", network: (*fakeNetwork).hang, kind: coleo.LimitNetwork, then: waits}
	// halfLimit breaks the stream off in the middle of an event.
	halfLimit = limited{name: "half an event", kind: coleo.LimitNetwork, then: givesUp,
		reply: []modelserver.Step{{Text: "It begins with a few words"}, {Half: true}}}
)

func (l limited) passedOn() limited            { l.told = true; return l }
func (l limited) notPassedOn() limited         { l.told = false; return l }
func (l limited) but(then reaction) limited    { l.then = then; return l }
func (l limited) shown(pattern string) limited { l.says = pattern; return l }
func (l limited) as(k coleo.LimitKind) limited { l.kind = k; return l }
func (l limited) compacted() limited           { l.compact = true; return l }
func (l limited) inCI() limited                { l.quick = true; return l }

// once makes Claude Code give up after one attempt instead of retrying for three minutes.
func (l limited) once() limited {
	l.name += " without retries"
	l.spawn, l.quick = []string{"-e", "CLAUDE_CODE_MAX_RETRIES=1"}, true
	return l
}

// limitsOf contains the cases of each agent CLI. docs/limits.md describes how the agent CLIs behave
// in them.
var limitsOf = []struct {
	harness, command string
	limits           []limited
}{
	{"claude-code", "claude", []limited{
		loginLimit.once(), quotaLimit.once(), afterLimit.inCI(), contextLimit.compacted(),
		loginLimit, quotaLimit, rateLimit, toldLimit, overloadLimit, refusedLimit.shown(`● API Error`), halfLimit,
		hangingLimit,
	}},
	{"codex", "codex", []limited{
		rateLimit.inCI(), refusedLimit.but(retries).inCI(),
		loginLimit, contextLimit, planLimit, overloadLimit, toldLimit.notPassedOn(),
		quotaLimit.notPassedOn().as(coleo.LimitRate), // the agent CLI does not show the text of a 429
		afterLimit.but(waits), hangingLimit, halfLimit,
	}},
	{"opencode", "opencode", []limited{
		loginLimit.inCI(), contextLimit.but(heals),
		toldLimit, rateLimit, quotaLimit, overloadLimit, refusedLimit.shown(`┃  Cannot connect to API`), halfLimit,
		hangingLimit, afterLimit.but(retries), // afterLimit: five retries, each after the time in Retry-After
	}},
	{"gemini", "gemini", []limited{
		loginLimit.inCI(), contextLimit, halfLimit, refusedLimit.shown(`✕ \[API Error`),
		// The agent CLI retries for longer than ten minutes, and does not show that.
		rateLimit.but(waits), toldLimit.but(waits), afterLimit.but(waits), quotaLimit.but(waits),
		overloadLimit.but(waits), hangingLimit,
	}},
	{"aider", "aider", []limited{
		loginLimit.inCI(), contextLimit, toldLimit, rateLimit, afterLimit, quotaLimit, overloadLimit,
		refusedLimit.shown(`overloaded\.\s*\n─{20,}`), halfLimit, hangingLimit,
	}},
	{"copilot", "copilot", []limited{
		loginLimit, contextLimit, toldLimit, rateLimit, afterLimit, quotaLimit, overloadLimit,
		refusedLimit.shown(`✗ `), halfLimit, hangingLimit,
	}},
	{"qwen", "qwen", []limited{
		loginLimit, contextLimit.but(heals), overloadLimit,
		rateLimit.but(retries), toldLimit.but(retries), afterLimit.but(waits), quotaLimit.but(retries),
		refusedLimit.shown(`✕ \[API Error`), halfLimit.but(heals), hangingLimit,
	}},
}
