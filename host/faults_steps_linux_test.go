package host

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// fault is something that can happen to an arm. A fault with a higher number is drawn more often.
type fault struct {
	what  string
	often int
	do    func(h *faultStage, a *faultArm, r *rand.Rand)
}

func armFaults() []fault {
	order := func(o coleo.QueueOrder) func(h *faultStage, a *faultArm, r *rand.Rand) {
		return func(h *faultStage, a *faultArm, _ *rand.Rand) {
			_ = h.give(bus.OpQueue, bus.QueueOrder{Arm: a.id, QueueOrder: o}, nil)
		}
	}
	return []fault{
		{"nothing", 20, nil},
		{"limit", 34, (*faultStage).meetLimit},
		{"prompt", 5, func(h *faultStage, a *faultArm, r *rand.Rand) { h.promptWith(a, h.plain(r), false) }},
		{"steer", 3, func(h *faultStage, a *faultArm, r *rand.Rand) { h.promptWith(a, h.plain(r), true) }},
		{"follow-up", 10, func(h *faultStage, a *faultArm, r *rand.Rand) {
			for range 1 + r.IntN(3) {
				h.add(a, h.plain(r))
			}
		}},
		{"limit as follow-up", 8, func(h *faultStage, a *faultArm, r *rand.Rand) { h.add(a, h.limited(r)) }},
		{"follow-up removed", 4, (*faultStage).removeFollowUp},
		{"queue paused", 2, order(coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a fault"})},
		{"queue resumed", 6, order(coleo.QueueOrder{Step: coleo.QueueResumed})},
		{"wait cancelled", 4, order(coleo.QueueOrder{Step: coleo.QueueUnparked})},
		{"continued by hand", 4, order(coleo.QueueOrder{Step: coleo.QueueContinued})},
		{"on-limit", 5, (*faultStage).changeOnLimit},
		{"alternative", 8, (*faultStage).takeNext},
		{"dialog", 8, func(h *faultStage, a *faultArm, r *rand.Rand) { h.beginOwn(a, "dialog "+h.word(r)) }},
		{"dialog answered", 12, (*faultStage).answerDialog},
		{"turn of its own", 3, func(h *faultStage, a *faultArm, _ *rand.Rand) { h.beginOwn(a, "pause 100ms\nsay own") }},
		{"interrupt", 3, func(h *faultStage, a *faultArm, _ *rand.Rand) { h.press(a, bus.OpInterrupt) }},
		{"abort", 2, func(h *faultStage, a *faultArm, _ *rand.Rand) { h.press(a, bus.OpAbort) }},
		{"compact", 2, func(h *faultStage, a *faultArm, _ *rand.Rand) {
			_ = h.give(bus.OpCompact, bus.ArmOrder{Arm: a.id}, nil)
		}},
		{"typed by hand", 4, (*faultStage).typeByHand},
		{"lease", 2, (*faultStage).takeLease},
		{"agent CLI dies", 3, (*faultStage).killAgent},
		{"arm ended", 2, func(h *faultStage, a *faultArm, _ *rand.Rand) { h.press(a, bus.OpKill) }},
		{"arm started", 16, func(h *faultStage, a *faultArm, r *rand.Rand) { _ = h.spawnArm(a, r.IntN(4) > 0) }},
	}
}

// wordings returns a text of the fake agent CLI at a limit. There are texts for each kind of limit.
func (h *faultStage) wordings(r *rand.Rand) string {
	at := func(d time.Duration) string { return fmt.Sprint(", reset at ", h.clock.now().Add(d).Unix()) }
	list := []string{
		"429", "429, retry in 90s", "429" + at(-5*time.Minute), "429" + at(time.Hour), "weekly limit",
		"weekly limit, resets in 6 days", "weekly limit" + at(30*time.Hour), "529", "529, retry after 20 seconds",
		"connection refused", "you must log in", "it is too long",
	}
	return list[r.IntN(len(list))]
}

// word returns a word that no other prompt contains.
func (h *faultStage) word(*rand.Rand) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words++
	word := "q"
	for n := h.words; n > 0; n /= 10 {
		word += string(rune('a' + n%10)) // not a digit, because a digit would answer a dialog
	}
	return word
}

func (h *faultStage) plain(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return fmt.Sprintf("pause %dms\nsay %s", r.IntN(300), h.word(r))
	}
	return "say " + h.word(r)
}

// limited returns a prompt that meets a limit. The arm may meet the limit again when it continues.
func (h *faultStage) limited(r *rand.Rand) string {
	return fmt.Sprintf("fail %d %s %s", 1+r.IntN(3)*r.IntN(2), h.wordings(r), h.word(r))
}

func (h *faultStage) meetLimit(a *faultArm, r *rand.Rand) { h.promptWith(a, h.limited(r), false) }

func (h *faultStage) promptWith(a *faultArm, text string, steer bool) {
	o, op := promptOrder(a.id, text), bus.OpPrompt
	if steer {
		o.Prompt.Interrupt, op = true, bus.OpSteer
		h.mayAnswer(a)
	}
	h.keep(&faultPrompt{arm: a, text: text, err: h.give(op, o, nil)})
}

func (h *faultStage) keep(p *faultPrompt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prompts = append(h.prompts, p)
}

// mayAnswer records that a person gives an order that may press a key in a dialog.
func (h *faultStage) mayAnswer(a *faultArm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.answers++
}

func (h *faultStage) add(a *faultArm, text string) {
	p := &faultPrompt{arm: a, text: text, id: "id-" + h.word(nil)}
	o := bus.QueueOrder{Arm: a.id, QueueOrder: coleo.QueueOrder{Step: coleo.QueueAdded, ID: p.id, Text: text}}
	p.err = h.give(bus.OpQueue, o, nil)
	if bus.IsUnanswered(p.err) { // a person repeats an order without an answer
		p.err = h.give(bus.OpQueue, o, nil)
	}
	h.keep(p)
}

func (h *faultStage) removeFollowUp(a *faultArm, r *rand.Rand) {
	h.mu.Lock()
	var mine []*faultPrompt
	for _, p := range h.prompts {
		if p.arm == a && p.id != "" && !p.removed {
			mine = append(mine, p)
		}
	}
	h.mu.Unlock()
	if len(mine) == 0 {
		return
	}
	p := mine[len(mine)-1-r.IntN(min(len(mine), 4))]
	err := h.give(bus.OpQueue, bus.QueueOrder{Arm: a.id, QueueOrder: coleo.QueueOrder{Step: coleo.QueueRemoved, ID: p.id}},
		nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.gone, p.removed = err, err == nil || uncertain(err)
}

func (h *faultStage) changeOnLimit(a *faultArm, r *rand.Rand) {
	list := []coleo.OnLimit{"wait", "ask", "model:p/m3,wait", "model:p/m3,model:p/m4,ask", "handover:other,wait",
		"account:work"}
	_ = h.give(bus.OpOnLimit, bus.OnLimitOrder{Arm: a.id, OnLimit: list[r.IntN(len(list))]}, nil)
}

// takeNext orders the next alternative of a parked arm, as serve does. It may repeat the order.
func (h *faultStage) takeNext(a *faultArm, r *rand.Rand) {
	var report bus.ArmReport
	times, fails := 1+r.IntN(2), r.IntN(4) == 0
	err := h.give(bus.OpReport, bus.ArmOrder{Arm: a.id}, &report)
	if err != nil || report.Queue == nil || report.Queue.Parked == nil {
		return
	}
	p := *report.Queue.Parked
	list := p.Next.Steps()
	if len(list) == 0 {
		return
	}
	o := bus.AlternativeOrder{Arm: a.id, At: bus.ParkedAt{Run: p.Run, Try: p.Try, Step: coleo.OnLimit(list[0].String())}}
	if o.Model = list[0].To; list[0].Do == coleo.LimitHandover || fails {
		o.Model, o.Failed = "", "it is away"
	}
	for range times {
		_ = h.give(bus.OpAlternative, o, nil)
	}
}

func (h *faultStage) answerDialog(a *faultArm, r *rand.Rand) {
	h.mayAnswer(a)
	choice := coleo.ChoiceApprove
	if r.IntN(2) == 0 {
		choice = coleo.ChoiceDeny
	}
	_ = h.give(bus.OpRespond, bus.RespondOrder{Arm: a.id, Decision: coleo.Decision{Choice: choice}}, nil)
}

func (h *faultStage) press(a *faultArm, op bus.Op) {
	h.mayAnswer(a)
	_ = h.give(op, bus.ArmOrder{Arm: a.id}, nil)
}

func (h *faultStage) typeByHand(a *faultArm, r *rand.Rand) {
	h.mayAnswer(a)
	text := "say " + h.word(r)
	var lease coleo.Lease
	if h.give(bus.OpLease, bus.LeaseOrder{Arm: a.id, Holder: "a person"}, &lease) != nil {
		return
	}
	h.keep(&faultPrompt{arm: a, text: text, byHand: true})
	const clear = "\x15" // clears the composer, which may contain a prompt from a killed host agent
	_ = h.give(bus.OpInput, bus.InputOrder{Arm: a.id, Lease: lease.ID, Data: []byte(clear + text + "\r")}, nil)
	_ = h.give(bus.OpLease, bus.LeaseOrder{Arm: a.id, ID: lease.ID, Release: true}, nil)
}

// takeLease gives a person the right to type until the end of the next step.
func (h *faultStage) takeLease(a *faultArm, _ *rand.Rand) {
	var lease coleo.Lease
	if h.give(bus.OpLease, bus.LeaseOrder{Arm: a.id, Holder: "a person"}, &lease) == nil {
		h.mu.Lock()
		a.lease, a.leased = lease.ID, 0
		h.mu.Unlock()
	}
}

func (h *faultStage) releaseLease(a *faultArm) {
	h.mu.Lock()
	if a.leased == 0 {
		h.mu.Unlock()
		return
	}
	lease := a.lease
	a.lease = ""
	h.mu.Unlock()
	if lease != "" {
		_ = h.give(bus.OpLease, bus.LeaseOrder{Arm: a.id, ID: lease, Release: true}, nil)
	}
}

func (h *faultStage) killAgent(a *faultArm, _ *rand.Rand) {
	h.mu.Lock()
	a.tape.update(h.t)
	pid := a.tape.pid
	h.mu.Unlock()
	if h.runsFake(a, pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// planned is a fault of the present step.
type planned struct {
	what  string
	after time.Duration // a random moment at which the fault happens; the test does not wait for a state here
	do    func()
}

// longestDelay is the latest moment of a fault in its step. A prompt takes about as long.
const longestDelay = 250 * time.Millisecond

// draw plans the faults of a step. The plan does not depend on what the host agent does.
func (h *faultStage) draw() (plan []planned) {
	list, all := armFaults(), 0
	for _, f := range list {
		all += f.often
	}
	for _, a := range h.arms {
		r := rand.New(rand.NewPCG(h.r.Uint64(), 0))
		after := time.Duration(h.r.Int64N(int64(longestDelay)))
		n, at := h.r.IntN(all), 0
		for n >= list[at].often {
			n -= list[at].often
			at++
		}
		f := list[at]
		p := planned{what: f.what, after: after, do: func() {}}
		if f.do != nil {
			p.do = func() {
				h.mu.Lock()
				a.touched = true
				h.mu.Unlock()
				f.do(h, a, r)
			}
		}
		plan = append(plan, p)
	}
	return plan
}

// step makes the faults of one step happen at the same time. Then it waits until all arms are at
// rest.
func (h *faultStage) step() {
	plan := append(h.draw(), h.drawGlobal())
	for _, a := range h.arms {
		a.touched, a.answers = false, 0
		a.leased++
	}
	h.setBack, h.renewed = false, false
	var happening sync.WaitGroup
	for _, p := range plan {
		h.mu.Lock()
		h.counts[p.what]++
		h.done = append(h.done, p.what)
		h.mu.Unlock()
		happening.Go(func() {
			time.Sleep(p.after)
			p.do()
		})
	}
	happening.Wait()
	h.settle()
	h.verify()
	for _, a := range h.arms {
		h.releaseLease(a)
	}
}
