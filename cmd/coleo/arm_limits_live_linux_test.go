package main

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
)

// limited is a limit that the scripted model pretends, and what a parked arm says of it.
type limited struct {
	name    string
	failure modelserver.Failure
	kind    coleo.LimitKind
	told    bool // the agent CLI passes the end of the limit on
}

var (
	loginLimit = limited{"login", modelserver.Failure{Status: 401, Message: "token has expired"},
		coleo.LimitLogin, false}
	contextLimit = limited{"context", modelserver.Failure{Status: 400,
		Message: "prompt is too long: 250000 tokens > 200000 maximum"}, coleo.LimitContext, false}
	overloadLimit = limited{"overload", modelserver.Failure{Status: 529, Message: "Overloaded"},
		coleo.LimitOverload, false}
	rateLimit = limited{"rate", modelserver.Failure{Status: 429, Message: "Rate limit reached for mock-1"},
		coleo.LimitRate, false}
	toldLimit = limited{"rate with a time", modelserver.Failure{Status: 429,
		Message: "Rate limit reached. Please try again in 6m0s."}, coleo.LimitRate, true}
	quotaLimit = limited{"quota with a time", modelserver.Failure{Status: 429,
		Message: "You've hit your limit · resets 3am (Europe/Berlin)"}, coleo.LimitQuota, true}
	// planLimit is the body with which OpenAI's servers refuse a plan that is used up.
	planLimit = limited{"plan", modelserver.Failure{Status: 429, Body: json.RawMessage(`{"error":{` +
		`"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",` +
		`"resets_in_seconds":7200}}`)}, coleo.LimitQuota, false}
)

// limitsOf has the limits that each agent CLI meets. Some of them make it retry for minutes
// before it gives up.
var limitsOf = []struct {
	harness, command string
	limits           []limited
}{
	{"claude-code", "claude", []limited{quotaLimit, overloadLimit}}, // it compacts by itself
	{"codex", "codex", []limited{rateLimit, planLimit, loginLimit, overloadLimit, contextLimit}},
	{"opencode", "opencode", []limited{loginLimit, toldLimit, quotaLimit, overloadLimit}}, // it compacts by itself
	{"gemini", "gemini", []limited{loginLimit, contextLimit}},                             // it retries others for long
	{"aider", "aider", []limited{loginLimit, contextLimit, toldLimit, quotaLimit, overloadLimit}},
}

// Some agent CLIs retry for minutes before they give up. `make soak` sets this flag.
var allLimits = flag.Bool("all-limits", false, "meet all limits of each agent CLI, and not only the first")

// TestAnArmOfARealAgentCLIIsParkedAtALimitAndGoesOnOnce lets the model refuse requests. The arm
// is parked with the right kind as soon as the agent CLI has given up. It then goes on with
// one prompt in the same conversation.
func TestAnArmOfARealAgentCLIIsParkedAtALimitAndGoesOnOnce(t *testing.T) {
	t.Parallel()
	for _, c := range limitsOf {
		limits := c.limits
		if !*allLimits {
			limits = limits[:1]
		}
		for _, limit := range limits {
			t.Run(c.harness+"/"+limit.name, func(t *testing.T) {
				needAgent(t, c.harness, c.command)
				var more []string
				if c.harness == "claude-code" { // it would retry for minutes
					more = []string{"-e", "CLAUDE_CODE_MAX_RETRIES=1"}
				}
				newLiveOf(t, c.harness, more...).meetsLimit(limit)
			})
		}
	}
}

func (l *live) meetsLimit(limit limited) {
	t := l.t
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("its queue is\n%s\nand its screen\n%s", l.run("arm", "queue", l.name).out,
				l.run("arm", "screen", l.name).out)
		}
	}()
	nonce := conformance.Nonce()
	decode[coleo.RunEnd](l.world, "arm", "prompt", l.name, "--wait", "say "+nonce)
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "limit",
		When: modelserver.When{Contains: "carry on"}, Reply: []modelserver.Step{{Fail: &limit.failure}}}}}))
	l.must("arm", "prompt", l.name, "please carry on")
	until(t, "the turn has ended", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 2 })
	gaveUp := l.lastRefusal()
	arm := l.arm(l.name)
	if arm.Queue == nil || arm.Queue.Parked == nil {
		t.Fatalf("it is not parked: %s %s", arm.State, arm.Rule)
	}
	p := *arm.Queue.Parked
	if p.Kind != limit.kind || p.Until.IsZero() == limit.told || p.Wake.IsZero() == limit.kind.Passes() {
		t.Errorf("it is parked %+v, want %s with a told end %v", p, limit.kind, limit.told)
	}
	if late := p.Seen.Sub(gaveUp); late > 10*time.Second {
		t.Errorf("it was parked %v after the last refused request", late)
	}
	if need, why := arm.Need(); need == coleo.NeedsYou == limit.kind.Passes() {
		t.Errorf("the list says %s: %s", need, why)
	}
	if status := l.must("arm", "status", l.name); !strings.Contains(status, string(limit.kind)+" limit") {
		t.Errorf("the status says\n%s", status)
	}
	l.check(l.model.SetScript(modelserver.Script{}))
	asked := len(l.model.Record())
	l.must("arm", "unpark", l.name)
	until(t, "it has gone on", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 3 })
	var ends [3]coleo.RunEnd
	for i, e := range l.events(l.name, coleo.EventRunEnd) {
		l.check(json.Unmarshal(e.Payload, &ends[i]))
	}
	if ends[1].Outcome != coleo.OutcomeFailed || ends[2].Outcome != coleo.OutcomeFinished || ends[2].Limit != nil {
		t.Errorf("the runs ended %+v and %+v", ends[1], ends[2])
	}
	l.checkGoneOn(asked, nonce)
	if arm := l.arm(l.name); arm.Queue != nil {
		t.Errorf("afterwards the queue is %+v", arm.Queue)
	}
	l.checkAnswer()
}

// checkGoneOn checks that the model was asked once more since the request with the number
// asked, for one turn, and that it got the conversation with it.
func (l *live) checkGoneOn(asked int, nonce string) {
	l.t.Helper()
	var prompts []string
	for _, q := range l.model.Record()[asked:] {
		if q.Prompt != "" && q.Side == "" {
			prompts = append(prompts, q.Prompt)
		}
	}
	prompt := "continue"
	if l.arm(l.name).Harness == "gemini" {
		prompt = "please carry on" // it forgets a prompt without a reply
	}
	if len(prompts) != 1 || prompts[0] != prompt || !l.modelGot(nonce, "please carry on", prompt) {
		l.t.Errorf("to go on, the model was prompted %q", prompts)
	}
}

// lastRefusal returns when the model refused the last request.
func (l *live) lastRefusal() time.Time {
	var last time.Time
	for _, q := range l.model.Record() {
		if q.Last.After(last) {
			last = q.Last
		}
	}
	return last
}

// TestAParkedArmOfARealAgentCLIGoesOnByItself: nobody touches the arm after its prompt. It goes
// on once when the told time has come, also if the host agent was killed while it waited.
func TestAParkedArmOfARealAgentCLIGoesOnByItself(t *testing.T) {
	t.Parallel()
	needAgent(t, "codex", "codex")
	l := newLiveOf(t, "codex")
	failure := modelserver.Failure{Status: 400, Message: "Too many requests. Please try again in 8s."}
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "limit",
		When: modelserver.When{Contains: "carry on"}, Reply: []modelserver.Step{{Fail: &failure}}}}}))
	l.must("arm", "prompt", l.name, "please carry on")
	until(t, "it is parked", func() bool {
		q := l.arm(l.name).Queue
		return q != nil && q.Parked != nil
	})
	wake := l.arm(l.name).Queue.Parked.Wake
	l.kill9(l.onlyProcess("agent"))
	l.must("up")
	until(t, "it has gone on", func() bool { return len(l.events(l.name, coleo.EventRunEnd)) == 2 })
	starts := l.events(l.name, coleo.EventRunStart)
	if len(starts) != 2 || starts[1].Time.Before(wake) {
		t.Errorf("%d runs, and it was to wait until %v", len(starts), wake)
	}
	l.checkAnswer()
	if n := l.told("continue"); n != 1 {
		t.Errorf("the model was told %d times to go on", n)
	}
}
