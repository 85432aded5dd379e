package host

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/host/armrecord"
)

// verify compares the input of the agent CLIs with the log, the records and the answers to orders.
// All arms must be at rest.
func (h *faultStage) verify() {
	h.t.Helper()
	h.log.update(h.t, h.db, h.setBack)
	queued := map[string]int{}
	for _, a := range h.arms {
		h.verifyArm(a, queued)
	}
	received := map[string]int{}
	for _, a := range h.arms {
		for text, n := range a.tape.prompts {
			received[text] += n
		}
	}
	h.verifyTexts(received)
	for _, p := range h.prompts {
		h.verifyPrompt(p, received, queued)
	}
	if len(h.log.wrong) > 0 || h.t.Failed() {
		h.t.Fatalf("after %v: the log: %v", h.done[max(0, len(h.done)-2*faultArms):], h.log.wrong)
	}
}

// verifyArm checks one arm. It counts the prompts in the arm's queue, by id.
func (h *faultStage) verifyArm(a *faultArm, queued map[string]int) {
	live, err := h.host.arm(a.id)
	if err != nil {
		h.t.Errorf("arm %s: %v", a.name, err)
		return
	}
	r := live.recordNow()
	q, logged := armrecord.Queue(&r), h.log.arms[a.id]
	pending := 0
	for _, e := range q.Entries {
		queued[e.ID]++
		if e.Continues > 0 {
			pending++
			if logged.pending[e.ID] != e.Text {
				h.t.Errorf("arm %s has the prompt %+v, and the log has %v", a.name, e, logged.pending)
			}
		}
	}
	for _, e := range r.Intended { // a dialog has hidden whether these prompts have arrived
		queued[e.ID]++
		if e.Continues > 0 {
			pending++
		}
	}
	if pending != len(logged.pending) {
		h.t.Errorf("arm %s has %d prompts that continue it, and the log has %v", a.name, pending, logged.pending)
	}
	h.verifyParking(a, q.Parked, logged.parked)
	if a.tape.starts > a.starts {
		h.t.Errorf("arm %s was started %d times, and %d starts were ordered", a.name, a.tape.starts, a.starts)
	}
	if len(a.tape.keys) > 0 && a.answers == 0 {
		h.t.Errorf("the dialog of arm %s got the keys %q, and nobody has answered it", a.name, a.tape.keys)
	}
	if a.tape.chosen > a.answers {
		h.t.Errorf("in the dialogs of arm %s, %d options were chosen, and %d answers ordered", a.name, a.tape.chosen,
			a.answers)
	}
	if a.tape.bytes > 0 && !a.touched && logged.moves == 0 {
		h.t.Errorf("arm %s got %d bytes, and nobody has ordered anything", a.name, a.tape.bytes)
	}
	if a.tape.bytes > 0 && a.lease != "" && a.leased > 0 && !h.renewed {
		h.t.Errorf("arm %s got %d bytes while a person had its lease", a.name, a.tape.bytes)
	}
	a.tape.bytes, a.tape.chosen, a.tape.keys, logged.moves = 0, 0, nil, 0
}

// verifyParking compares what the record and the log say about a parked arm, an arm that waits for the end of a
// limit.
func (h *faultStage) verifyParking(a *faultArm, row, logged *coleo.Parked) {
	if (row == nil) != (logged == nil) {
		h.t.Errorf("arm %s is parked %+v, and the log says %+v", a.name, row, logged)
		return
	}
	if row == nil {
		return
	}
	is, was := row.WithoutPrompt(), *logged
	is.Doing = "" // the log has no event about it
	for _, p := range []*coleo.Parked{&is, &was} {
		p.Wake, p.Seen, p.Until = p.Wake.UTC().Round(0), p.Seen.UTC().Round(0), p.Until.UTC().Round(0)
	}
	if !reflect.DeepEqual(is, was) {
		h.t.Errorf("arm %s is parked\n%+v, and the log says\n%+v", a.name, is, was)
	}
	var report bus.ArmReport
	if h.give(bus.OpReport, bus.ArmOrder{Arm: a.id}, &report) != nil || report.Queue == nil ||
		report.Queue.Parked == nil || !report.Queue.Parked.Wake.Equal(row.Wake) {
		h.t.Errorf("arm %s is parked %+v, and its report says %+v", a.name, row, report.Queue)
	}
}

// verifyTexts checks that the agent CLI has received the prompt of each run.
func (h *faultStage) verifyTexts(received map[string]int) {
	for _, counts := range []map[string]int{h.log.started, h.log.resumed} {
		for text := range counts {
			if got, want := received[text], h.log.started[text]+h.log.resumed[text]; got < want {
				h.t.Errorf("%d runs have begun with %q, and the agent CLI has got it %d times", want, text, got)
			}
		}
	}
	if got, most := received["next"], h.log.resumed["next"]+h.log.dropped["next"]; got > most {
		h.t.Errorf("the arms were told to continue %d times, and %d runs and losses continue an arm", got, most)
	}
	known := map[string]bool{"next": true, "/shorten": true}
	for _, p := range h.prompts {
		known[p.text] = true
	}
	for text := range received {
		if !known[text] && !strings.HasPrefix(text, "/model ") {
			h.t.Errorf("the agent CLI has got %q, which nobody has ordered", text)
		}
	}
}

// verifyPrompt checks that a prompt has arrived exactly once, or that the log says that it is lost.
func (h *faultStage) verifyPrompt(p *faultPrompt, received, queued map[string]int) {
	runs, repeats := h.log.started[p.text], h.log.resumed[p.text]
	got := received[p.text] - repeats
	if runs > 1 || got > max(1, runs)+h.log.dropped[p.text] {
		h.t.Errorf("the prompt %q was received %d times, with %d runs and %d repeats", p.text, received[p.text], runs,
			repeats)
	}
	if p.byHand {
		return
	}
	if p.id == "" {
		words := strings.Fields(p.text)
		last := " " + words[len(words)-1] + `"` // the end of the note, in JSON
		toldLost := slices.ContainsFunc(h.log.lost, func(note string) bool { return strings.Contains(note, last) })
		h.verifyDirect(p, got, runs, toldLost)
		return
	}
	places := queued[p.id] + runs + h.log.pausing[p.id]
	if h.log.removed[p.id] {
		places++
	}
	if places > 1 || places == 0 && p.err == nil {
		h.t.Errorf("the follow-up %s %q is in %d places: queue %d, runs %d, lost %d, removed %v (its order: %v)", p.id,
			p.text, places, queued[p.id], runs, h.log.pausing[p.id], h.log.removed[p.id], p.err)
	}
	if got > 0 && runs == 0 && h.log.pausing[p.id] == 0 && queued[p.id] == 0 {
		h.t.Errorf("the follow-up %s %q was received, and has no run", p.id, p.text)
	}
}

// verifyDirect checks a prompt that was sent without the queue.
func (h *faultStage) verifyDirect(p *faultPrompt, got, runs int, toldLost bool) {
	switch {
	case p.err == nil && runs != 1 && !toldLost:
		h.t.Errorf("the prompt %q was taken, and has %d runs", p.text, runs)
	case p.err != nil && !uncertain(p.err) && (got > 0 || runs > 0):
		h.t.Errorf("the prompt %q was refused (%v), and received %d times, with %d runs", p.text, p.err, got, runs)
	case p.err != nil && bus.IsUnanswered(p.err) && got > 0 && runs == 0 && !toldLost:
		h.t.Errorf("the prompt %q was received, and nobody was told (%v)", p.text, p.err)
	}
}

// end stops the faults. Then every arm must come to rest, or report what it waits for. After a person has
// helped these arms, each queued prompt must reach its agent CLI.
func (h *faultStage) end() {
	h.t.Helper()
	h.endHost(h.halt)
	for range 8 {
		h.quietly(func() { h.advance(faultWeek / 7) })
	}
	if age := h.clock.now().Sub(h.began); age < faultWeek {
		h.t.Errorf("only %v were simulated", age)
	}
	for range 40 {
		if h.quietly(h.helpAll) {
			return
		}
	}
	h.t.Error("a person helps each arm, and the queues do not become empty")
}

// quietly calls the given function, and reports whether all queues are empty afterwards.
func (h *faultStage) quietly(do func()) bool {
	h.setBack = false
	for _, a := range h.arms {
		a.touched, a.answers = true, 1 // the caller's function may help any arm
	}
	do()
	h.settle()
	h.verify()
	empty := true
	for _, a := range h.arms {
		live, err := h.host.arm(a.id)
		h.check(err)
		r := live.recordNow()
		q := armrecord.Queue(&r)
		empty = empty && len(q.Entries) == 0 && q.Parked == nil
		if q.Parked != nil && q.Parked.Wake.IsZero() && q.Parked.Why == "" {
			h.t.Errorf("arm %s waits for a person and does not say why: %+v", a.name, q.Parked)
		}
	}
	return empty
}

func (h *faultStage) helpAll() {
	for _, a := range h.arms {
		h.help(a)
	}
}

// help does what a person would do for an arm that waits for a person.
func (h *faultStage) help(a *faultArm) {
	live, err := h.host.arm(a.id)
	h.check(err)
	s, _ := live.liveSession()
	r := live.recordNow()
	q := armrecord.Queue(&r)
	order := func(step coleo.QueueStep) {
		h.check(h.give(bus.OpQueue, bus.QueueOrder{Arm: a.id, QueueOrder: coleo.QueueOrder{Step: step}}, nil))
	}
	switch {
	case s == nil:
		h.check(h.spawnArm(a, true))
	case s.State().Dialog != nil:
		h.answerDialog(a, h.r)
	case q.Paused != "":
		order(coleo.QueueResumed)
	case q.Parked != nil && q.Parked.Wake.IsZero():
		order(coleo.QueueContinued)
	case q.Parked != nil:
		h.advance(q.Parked.Wake.Sub(h.clock.now()) + time.Second)
	case len(q.Entries) > 0 && s.State().State == coleo.Failed:
		h.promptWith(a, h.plain(h.r), false)
	}
}
