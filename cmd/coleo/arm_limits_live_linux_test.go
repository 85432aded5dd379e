package main

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/conformance"
	"coleo.dev/conformance/modelserver"
	"coleo.dev/holder/journal"
)

// These flags choose the cases of TestAnArmOfARealAgentCLIIsParkedAtALimitAndGoesOnOnce. `make limits` sets
// both.
var (
	allLimits  = flag.Bool("all-limits", false, "meet all limits of each agent CLI, and not only the quick ones")
	limitBound = flag.Duration("limit-bound", 5*time.Second,
		"how long an agent CLI that tries again and again is watched before its model is mended")
)

// limitParallel is how many arms are tested at the same time. The arms mostly wait, but an agent CLI takes up
// to 1 GB of memory.
const limitParallel = 6

// parkedWithin is the longest time from when an agent CLI gives up until Coleo has parked its arm.
const parkedWithin = 10 * time.Second

// limitSlots holds one element for each arm that is being tested.
var limitSlots = make(chan bool, limitParallel)

// TestAnArmOfARealAgentCLIIsParkedAtALimitAndGoesOnOnce makes the model or the network fail, in each case of
// limitsOf.
//
// If the agent CLI gives up, the arm must be parked for the right kind of limit. Later it must continue with
// one prompt in the same conversation. If the agent CLI keeps retrying, the arm must show that, and nothing may
// be typed. The turn must then end when the model works again.
func TestAnArmOfARealAgentCLIIsParkedAtALimitAndGoesOnOnce(t *testing.T) {
	t.Parallel()
	for _, c := range limitsOf {
		for _, limit := range c.limits {
			if !*allLimits && !limit.quick {
				continue // `make limits` runs this case
			}
			t.Run(c.harness+"/"+limit.name, func(t *testing.T) {
				t.Parallel()
				needAgent(t, c.harness, c.command)
				limitSlots <- true
				defer func() { <-limitSlots }()
				newLiveOf(t, c.harness, limit.spawn...).meetsLimit(limit)
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
	asked := len(l.model.Record())
	l.breakModel(limit)
	l.must("arm", "prompt", l.name, "please carry on")
	prompted := time.Now()
	if limit.then == givesUp {
		l.givesUp(limit, prompted)
		l.goesOn(limit, nonce)
	} else {
		l.keepsTrying(limit, prompted)
		l.finishesMended(limit, asked, nonce)
	}
	l.checkAnswer()
}

// breakModel makes the model fail, or the network in front of it.
func (l *live) breakModel(limit limited) {
	l.t.Helper()
	if limit.network != nil {
		limit.network(l.network)
		return
	}
	l.check(l.model.SetScript(modelserver.Script{Rules: []modelserver.Rule{{Name: "limit",
		When: modelserver.When{Contains: "carry on"}, Reply: limit.reply}}}))
}

func (l *live) mendModel(limit limited) {
	l.t.Helper()
	if limit.network != nil {
		l.network.mend()
	}
	l.check(l.model.SetScript(modelserver.Script{}))
}

// longestRetries bounds the wait until an agent CLI gives up. OpenCode and Gemini take four
// minutes.
const longestRetries = 10 * time.Minute

// givesUp waits until the agent CLI has given up. It checks that the arm is parked in time.
func (l *live) givesUp(limit limited, prompted time.Time) {
	t := l.t
	t.Helper()
	deadline := time.Now().Add(longestRetries)
	for len(l.events(l.name, coleo.EventRunEnd)) < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("the turn has not ended within %v: %s", longestRetries, l.arm(l.name).Rule)
		}
		time.Sleep(200 * time.Millisecond)
	}
	arm := l.arm(l.name)
	if arm.Queue == nil || arm.Queue.Parked == nil {
		t.Fatalf("it is not parked: %s %s", arm.State, arm.Rule)
	}
	p := *arm.Queue.Parked
	if p.Kind != limit.kind || p.Until.IsZero() == limit.told || p.Wake.IsZero() == limit.kind.Passes() {
		t.Errorf("it is parked %+v, want %s with a told end %v", p, limit.kind, limit.told)
	}
	gaveUp := l.gaveUp(limit, prompted, p.Seen)
	t.Logf("gave up after %.1f s, parked %.1f s later: %s", gaveUp.Sub(prompted).Seconds(), p.Seen.Sub(gaveUp).Seconds(),
		p.Text)
	if late := p.Seen.Sub(gaveUp); late > parkedWithin {
		t.Errorf("it was parked %v after the agent CLI gave up", late)
	}
	if need, why := arm.Need(); need == coleo.NeedsYou == limit.kind.Passes() {
		t.Errorf("the list says %s: %s", need, why)
	}
	if status := l.must("arm", "status", l.name); !strings.Contains(status, string(limit.kind)+" limit") {
		t.Errorf("the status says\n%s", status)
	}
	l.checkNothingTyped(prompted)
}

// gaveUp returns the time at which the agent CLI gave up. If the model failed, that is the time of
// its last refusal. If the network failed, it is when the error first appeared on the agent CLI's
// screen.
func (l *live) gaveUp(limit limited, prompted, parked time.Time) time.Time {
	l.t.Helper()
	if limit.network == nil {
		return l.lastRefusal()
	}
	if limit.says == "" {
		l.t.Fatal("the case does not say what the agent CLI shows")
	}
	shown := regexp.MustCompile(limit.says)
	client, err := l.client()
	l.check(err)
	shows := func(at time.Time) bool {
		screen, err := client.ScreenAt(l.t.Context(), l.name, at)
		l.check(err)
		return shown.MatchString(strings.Join(screen.Lines, "\n"))
	}
	const step = 250 * time.Millisecond // coarser than the times of past screens, which are exact to 50 ms
	from, to := prompted, parked
	for to.Sub(from) > step {
		if mid := from.Add(to.Sub(from) / 2); shows(mid) {
			to = mid
		} else {
			from = mid
		}
	}
	return to
}

// saysWithin is the longest time until the arm must show that its agent CLI retries. Qwen shows
// nothing during its first attempts, which take two minutes.
const saysWithin = 4 * time.Minute

// keepsTrying checks that the agent CLI does not give up during the test. Meanwhile the arm must be
// working, and not parked. If the agent CLI shows that it retries, the arm must show that too.
func (l *live) keepsTrying(limit limited, prompted time.Time) {
	t := l.t
	t.Helper()
	if limit.then == retries {
		deadline := time.Now().Add(saysWithin)
		for !l.saysRetrying() {
			if time.Now().After(deadline) {
				t.Fatalf("the arm does not say within %v that it tries again", saysWithin)
			}
			time.Sleep(200 * time.Millisecond)
		}
		t.Logf("tries again: told after %.1f s", time.Since(prompted).Seconds())
	}
	for until := prompted.Add(*limitBound); limit.then != heals && time.Now().Before(until); time.Sleep(time.Second) {
		if ends := l.events(l.name, coleo.EventRunEnd); len(ends) > 1 {
			t.Fatalf("the turn ended after %v: %s", time.Since(prompted), ends[1].Payload)
		}
	}
	arm := l.arm(l.name)
	if arm.Queue != nil || limit.then != heals && arm.State != coleo.Processing {
		t.Errorf("after %v the arm is %s %s with the queue %+v", time.Since(prompted), arm.State, arm.Rule, arm.Queue)
	}
	l.checkNothingTyped(prompted)
	l.mendModel(limit)
}

// saysRetrying reports whether the arm shows that its agent CLI retries. The arm can show it in the
// rule of its state, or by an error in its log.
func (l *live) saysRetrying() bool {
	l.t.Helper()
	for _, e := range l.events(l.name, coleo.EventState) {
		var c coleo.Change
		l.check(json.Unmarshal(e.Payload, &c))
		if slices.Contains([]string{"retrying", "reconnecting"}, c.Reading.Rule) && c.Reading.Detail != "" {
			return true
		}
	}
	for _, e := range l.events(l.name, coleo.EventError) {
		var p coleo.Problem
		l.check(json.Unmarshal(e.Payload, &p))
		if p.Retries {
			return true
		}
	}
	return false
}

// checkNothingTyped checks in the holder's journal that no key was typed after the prompt arrived.
func (l *live) checkNothingTyped(since time.Time) {
	l.t.Helper()
	marks, err := journal.Marks(l.journalDir())
	l.check(err)
	for _, m := range marks {
		if m.Kind == journal.MarkInput && m.Time.After(since) {
			l.t.Errorf("keys were typed %v after the prompt", m.Time.Sub(since))
		}
	}
}

// goesOn makes the model work again, and lets the parked arm continue. The model must receive one prompt, in
// the same conversation.
func (l *live) goesOn(limit limited, nonce string) {
	t := l.t
	t.Helper()
	l.mendModel(limit)
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
	l.checkGoneOn(asked, limit, nonce)
	if arm := l.arm(l.name); arm.Queue != nil {
		t.Errorf("afterwards the queue is %+v", arm.Queue)
	}
}

// finishesMended waits until the agent CLI has ended its turn, which it can do because its model
// works again. `asked` is how many requests the model had received before. The model must have
// received no other prompt since then.
func (l *live) finishesMended(limit limited, asked int, nonce string) {
	t := l.t
	t.Helper()
	deadline := time.Now().Add(longestRetries) // the pause before the next attempt may take minutes
	for len(l.events(l.name, coleo.EventRunEnd)) < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("the model is mended, and the turn has not ended within %v", longestRetries)
		}
		time.Sleep(200 * time.Millisecond)
	}
	var end coleo.RunEnd
	l.check(json.Unmarshal(l.events(l.name, coleo.EventRunEnd)[1].Payload, &end))
	if end.Outcome != coleo.OutcomeFinished || end.Limit != nil {
		t.Errorf("the run ended %+v, want finished", end)
	}
	for _, q := range l.model.Record()[asked:] {
		if q.Prompt != "" && q.Side == "" && q.Prompt != "please carry on" && limit.then != heals {
			t.Errorf("the model was prompted %q", q.Prompt)
		}
	}
	if limit.then != heals && !l.modelGot(nonce, "please carry on") {
		t.Error("the conversation was not kept")
	}
}

// checkGoneOn checks that the arm has continued its conversation with exactly one prompt. `asked`
// is how many requests the model had received before. The model must also have received the nonce
// of the earlier conversation, except if the conversation was compacted.
func (l *live) checkGoneOn(asked int, limit limited, nonce string) {
	l.t.Helper()
	var prompts []string
	for _, q := range l.model.Record()[asked:] {
		if q.Prompt != "" && q.Side == "" {
			prompts = append(prompts, q.Prompt)
		}
	}
	prompt := "continue"
	if l.arm(l.name).Harness == "gemini" {
		prompt = "please carry on" // Gemini forgets a prompt that got no reply, so Coleo sends it again
	}
	if len(prompts) != 1 || prompts[0] != prompt {
		l.t.Errorf("to go on, the model was prompted %q", prompts)
	}
	if !limit.compact && !l.modelGot(nonce, "please carry on", prompt) {
		l.t.Error("the conversation was not kept")
	}
}

// lastRefusal returns the time at which the model refused its last request.
func (l *live) lastRefusal() time.Time {
	var last time.Time
	for _, q := range l.model.Record() {
		if q.Side == "" && q.Last.After(last) {
			last = q.Last
		}
	}
	return last
}

// journalDir returns the folder of the arm's journal.
func (l *live) journalDir() string {
	l.t.Helper()
	found, err := filepath.Glob(l.path("state/arms/*/g1/journal"))
	if err != nil || len(found) != 1 {
		l.t.Fatalf("the journal of the arm: %q, %v", found, err)
	}
	return found[0]
}

// TestAParkedArmOfARealAgentCLIGoesOnByItself: an arm is parked at a limit that says when it ends.
// At that time, the arm must continue once by itself, even if the host agent was killed meanwhile.
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
