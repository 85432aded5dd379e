package main

import (
	"encoding/json"
	"fmt"
	"time"

	"coleo.dev"
	"coleo.dev/conformance/modelserver"
)

// reaction is what an agent CLI does when its model fails.
type reaction string

const (
	givesUp reaction = "gives up" // it ends the turn, and the arm is parked
	retries reaction = "retries"  // it tries again for longer than the bound of the test, and shows that
	waits   reaction = "waits"    // it waits for longer than the bound of the test, and shows only that it works
	heals   reaction = "heals"    // it gets around the fault by a prompt of its own, and the turn ends
)

// limited is a way in which a model fails, and what the agent CLI and a parked arm make of it.
type limited struct {
	name    string
	reply   []modelserver.Step // the model's reply; nil if the network fails
	network func(*fakeNetwork) // makes the network fail; nil if it does not
	kind    coleo.LimitKind
	told    bool // the agent CLI passes the end of the limit on

	then    reaction
	says    string   // pattern of the screen when the agent CLI gives up on the network
	compact bool     // the agent CLI has made the conversation shorter before it gives up
	spawn   []string // more arguments of spawn
	quick   bool     // it takes less than a minute, and CI runs it
}

// failsAt returns a limit at which the model answers with a failure.
func failsAt(name string, kind coleo.LimitKind, f modelserver.Failure) limited {
	return limited{name: name, kind: kind, then: givesUp, reply: []modelserver.Step{{Fail: &f}}}
}

// These are the limits. The cases of limitsOf change what differs for an agent CLI.
var (
	loginLimit = failsAt("login", coleo.LimitLogin,
		modelserver.Failure{Status: 401, Message: "token has expired"})
	contextLimit = failsAt("context", coleo.LimitContext,
		modelserver.Failure{Status: 400, Message: "prompt is too long: 250000 tokens > 200000 maximum"})
	overloadLimit = failsAt("overload", coleo.LimitOverload,
		modelserver.Failure{Status: 529, Message: "Overloaded"})
	rateLimit = failsAt("rate", coleo.LimitRate,
		modelserver.Failure{Status: 429, Message: "Rate limit reached for mock-1"})
	// toldLimit names its end in the text, and afterLimit in the header Retry-After.
	toldLimit = failsAt("rate with a time", coleo.LimitRate,
		modelserver.Failure{Status: 429, Message: "Rate limit reached. Please try again in 6m0s."}).passedOn()
	afterLimit = failsAt("rate with a header", coleo.LimitRate,
		modelserver.Failure{Status: 429, RetryAfter: 360, Message: "Rate limit reached for mock-1"})
	quotaLimit = failsAt("quota with a time", coleo.LimitQuota,
		modelserver.Failure{Status: 429, Message: "You've hit your limit · resets 3am (Europe/Berlin)"}).passedOn()
	// planLimit is the body with which OpenAI's servers refuse a plan that is used up.
	planLimit = failsAt("plan", coleo.LimitQuota, modelserver.Failure{Status: 429, Body: json.RawMessage(fmt.Sprintf(
		`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",`+
			`"resets_at":%d,"resets_in_seconds":7200}}`, time.Now().Add(2*time.Hour).Unix()))}).passedOn()

	refusedLimit = limited{name: "refused", network: (*fakeNetwork).refuse, kind: coleo.LimitNetwork, then: givesUp}
	// hangingLimit accepts connections and says nothing.
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

// once limits the attempts of Claude Code, which would try for three minutes.
func (l limited) once() limited {
	l.name += " without retries"
	l.spawn, l.quick = []string{"-e", "CLAUDE_CODE_MAX_RETRIES=1"}, true
	return l
}

// limitsOf has the limits of each agent CLI. docs/limits.md has what was measured.
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
		quotaLimit.notPassedOn().as(coleo.LimitRate), // it does not pass the text of a 429 on
		afterLimit.but(waits), hangingLimit, halfLimit,
	}},
	{"opencode", "opencode", []limited{
		loginLimit.inCI(), contextLimit.but(heals),
		toldLimit, rateLimit, quotaLimit, overloadLimit, refusedLimit.shown(`┃  Cannot connect to API`), halfLimit,
		hangingLimit, afterLimit.but(retries), // it waits as long as the header says, up to five times
	}},
	{"gemini", "gemini", []limited{
		loginLimit.inCI(), contextLimit, halfLimit, refusedLimit.shown(`✕ \[API Error`),
		// It tries again for longer than ten minutes, and shows nothing of it.
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
