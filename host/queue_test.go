package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// followUp adds a prompt to the queue of an arm and returns its id.
func (s *stage) followUp(id, text string) string {
	s.t.Helper()
	return must[coleo.QueueReport](s, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{
		Step: coleo.QueueAdded, Text: text}}).ID
}

func (s *stage) queue(id string, o coleo.QueueOrder) coleo.Queue {
	s.t.Helper()
	return must[coleo.QueueReport](s, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: o}).Queue
}

func (s *stage) queueChanges(id string) []coleo.QueueChange {
	s.t.Helper()
	var out []coleo.QueueChange
	for _, e := range s.events(id, coleo.EventQueue) {
		var c coleo.QueueChange
		s.check(json.Unmarshal(e.Payload, &c))
		out = append(out, c)
	}
	return out
}

func (s *stage) awaitPrompted(name string, want ...string) {
	s.t.Helper()
	s.until("the agent CLI got "+strings.Join(want, ", "), func() bool { return len(s.prompted(name)) >= len(want) })
	if got := s.prompted(name); !slices.Equal(got, want) {
		s.t.Fatalf("the agent CLI was prompted %q, want %q", got, want)
	}
}

// checkNothingSent checks that the queue does not continue now. One more attempt must send nothing,
// and the agent CLI must have received n prompts.
func (s *stage) checkNothingSent(id, name string, n int) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	session, err := a.liveSession()
	s.check(err)
	a.sendFirst(s.t.Context(), session)
	if got := s.prompted(name); len(got) != n {
		s.t.Errorf("the agent CLI was prompted %q, want %d prompts", got, n)
	}
}

func (s *stage) awaitRuns(id string, n int) {
	s.t.Helper()
	s.until("the runs have ended", func() bool { return len(s.events(id, coleo.EventRunEnd)) == n })
	if ends := s.ends(id); len(ends) != n {
		s.t.Errorf("%d runs have ended, want %d", len(ends), n)
	}
}

func TestM12FollowUpQueueSendsInOrderOneRunEach(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "pause 10m")
	ids := []string{s.followUp(id, "say one"), s.followUp(id, "pause 300ms"), s.followUp(id, "say three")}
	s.checkNothingSent(id, "ada", 1)
	must[coleo.Interruption](s, bus.OpInterrupt, bus.ArmOrder{Arm: id})
	s.awaitPrompted("ada", "pause 10m", "say one", "pause 300ms", "say three")
	s.awaitRuns(id, 4)
	for i, e := range s.events(id, coleo.EventRunStart)[1:] {
		var r coleo.Receipt
		s.check(json.Unmarshal(e.Payload, &r))
		if e.Run != ids[i] || r.ID != ids[i] || !r.FollowUp {
			t.Errorf("run %d is %s (%+v), want the id of the entry, %s", i, e.Run, r, ids[i])
		}
	}
	if now := s.followUp(id, "say at-once"); now == "" || len(s.queue(id, coleo.QueueOrder{}).Entries) > 1 {
		t.Error("a prompt for an idle arm waits")
	}
	s.awaitRuns(id, 5)
	changes := s.queueChanges(id)
	for _, c := range changes {
		if c.Step == coleo.QueueSent && c.Sending != c.ID {
			t.Errorf("the change %+v does not tell that its prompt is being sent", c)
		}
	}
	if last := changes[len(changes)-1]; last.Step != coleo.QueueSent || last.Length != 0 {
		t.Errorf("the last event is %+v, want that the queue is empty", last)
	}
	a, err := s.host.arm(id)
	s.check(err)
	if q := a.report().Queue; q != nil {
		t.Errorf("an arm without prompts that wait reports the queue %+v", q)
	}
}

func TestAQueueWaitsForDialogsPeopleAndPauses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.prompt(id, "dialog make")
	s.until("a dialog is open", func() bool {
		return must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Reading.Dialog != nil
	})
	s.followUp(id, "say behind")
	s.checkNothingSent(id, "ada", 1)
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	must[struct{}](s, bus.OpRespond, bus.RespondOrder{Arm: id, Decision: coleo.Decision{Choice: coleo.ChoiceDeny}})
	s.awaitRuns(id, 1)
	s.awaitState(id, coleo.Idle)
	s.checkNothingSent(id, "ada", 1)
	lease := must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "me"})
	if q := s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed}); len(q.Entries) != 1 || q.Paused != "" {
		t.Errorf("resumed: %+v", q)
	}
	s.checkNothingSent(id, "ada", 1)
	must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, ID: lease.ID, Release: true})
	s.awaitPrompted("ada", "dialog make", "say behind")
	s.awaitRuns(id, 2)
}

func TestALeaseThatRunsOutLetsTheQueueGo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	must[coleo.Lease](s, bus.OpLease, bus.LeaseOrder{Arm: id, Holder: "me"})
	a, err := s.host.arm(id)
	s.check(err)
	a.lease.EndAt(time.Now().Add(300 * time.Millisecond))
	s.followUp(id, "say later")
	s.awaitPrompted("ada", "say later")
	s.awaitRuns(id, 1)
}

func TestEntriesAreEditedMovedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	one, two, three := s.followUp(id, "say one"), s.followUp(id, "say two"), s.followUp(id, "say three")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueEdited, ID: two, Text: "say other"})
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueMoved, ID: three, To: 1})
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueRemoved, ID: one})
	s.refused(coleo.ENotFound, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{
		Step: coleo.QueueRemoved, ID: one}})
	s.refused(coleo.EInvalid, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{
		Step: coleo.QueueAdded, Text: "  "}})
	s.refused(coleo.EInvalid, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{
		Step: coleo.QueueAdded, Text: "see", Files: []string{"/no/such/file"}}})
	s.refused(coleo.EInvalid, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{
		Step: coleo.QueueSent, ID: three}})
	s.refused(coleo.EUnsupported, bus.OpQueue, bus.QueueOrder{Arm: id, QueueOrder: coleo.QueueOrder{Step: "sung"}})
	s.restart() // a queue and its pause are on the disk
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 2 || q.Paused != "a test" || !q.ByHand ||
		q.Entries[1].Text != "say other" {
		t.Errorf("after a restart the queue is %+v", q)
	}
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitPrompted("ada", "say three", "say other")
	s.awaitRuns(id, 2)
}

// refusingSession is a real session that refuses prompts.
type refusingSession struct {
	coleo.Session
	refuse func() error
}

func (r *refusingSession) SendPrompt(ctx context.Context, p coleo.Prompt) (coleo.Receipt, error) {
	if err := r.refuse(); err != nil {
		return coleo.Receipt{}, err
	}
	return r.Session.SendPrompt(ctx, p)
}

// hijack replaces the arm's session with another one. From then on, only the test sends the queue.
func (s *stage) hijack(id string, by func(coleo.Session) coleo.Session) (*arm, coleo.Session) {
	s.t.Helper()
	a, err := s.host.arm(id)
	s.check(err)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = by(a.session)
	return a, a.session
}

func TestARefusedPromptIsFirstAgainAndTriedOnTheNextChange(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.arm("ada")
	refusal := error(coleo.Errorf(coleo.EUnrecognised, "no rule knows the screen"))
	tries := 0
	a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
		return &refusingSession{real, func() error { tries++; return refusal }}
	})
	first := s.followUp(id, "say one")
	s.followUp(id, "say two")
	for range 3 { // only the first call tries the prompt
		a.sendFirst(t.Context(), session)
	}
	q := s.queue(id, coleo.QueueOrder{})
	if tries != 1 || len(q.Entries) != 2 || q.Entries[0].ID != first || q.Held != refusal.Error() || q.Paused != "" {
		t.Fatalf("%d tries, and the queue is %+v", tries, q)
	}
	refusal = nil
	a.allowRetry()
	a.sendFirst(t.Context(), session)
	s.awaitPrompted("ada", "say one")
	s.awaitRuns(id, 1)
	if lost := s.events(id, coleo.EventPromptLost); len(lost) != 0 {
		t.Errorf("%d prompts are called lost", len(lost))
	}
	refusal = coleo.Errorf(coleo.EInvalid, "it would be a command")
	s.awaitState(id, coleo.Idle)
	a.sendFirst(t.Context(), session)
	if q = s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || !strings.Contains(q.Paused, "it would be a command") {
		t.Errorf("after a prompt that can never be sent the queue is %+v", q)
	}
}

func TestALostPromptPausesTheQueue(t *testing.T) {
	t.Parallel()
	for what, cause := range map[string]error{
		"told by the session": &coleo.Error{Code: coleo.EPromptLost, Message: "lost", Screen: &coleo.Screen{}},
		"by an HTTP server":   coleo.Errorf(coleo.EPromptLost, "lost"),
		"not answered":        coleo.Errorf(coleo.EUnavailable, "the server did not answer"),
		"a fault":             errors.New("a fault"),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session {
				return &refusingSession{real, func() error { return cause }}
			})
			first := s.followUp(id, "say one")
			s.followUp(id, "say two")
			a.sendFirst(t.Context(), session)
			q, changes := s.queue(id, coleo.QueueOrder{}), s.queueChanges(id)
			if last := changes[len(changes)-1]; last.Step != coleo.QueuePaused || last.ID != first ||
				last.Sending != "" || len(q.Entries) != 1 || q.Paused == "" || q.ByHand {
				t.Errorf("the queue is %+v, and its last event %+v", q, last)
			}
			want := 1
			if what == "told by the session" {
				want = 0 // the host agent leaves it to the session to record this loss, and refusingSession records none
			}
			if lost := s.events(id, coleo.EventPromptLost); len(lost) != want {
				t.Errorf("%d prompts are called lost, want %d", len(lost), want)
			}
			if got := s.prompted("ada"); len(got) != 0 {
				t.Errorf("the agent CLI was prompted %q", got)
			}
		})
	}
}

// The host agent is killed at each step between the queue and the run. The prompt must arrive once,
// or it must be recorded as lost and the queue must be paused.
func TestAHostAgentIsKilledBetweenQueueAndRun(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		kill func(s *stage, id string)
		lost int
		want []string
	}{
		"before it is taken": {func(s *stage, id string) {
			s.hijack(id, func(real coleo.Session) coleo.Session { return &refusingSession{Session: real} })
			s.followUp(id, "say one")
		}, 0, []string{"say one"}},
		"before it is typed": {func(s *stage, id string) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &cutSession{real, s.db, true} })
			s.followUp(id, "say one")
			s.stopDuring(a, session)
		}, 1, nil},
		"after it has arrived": {func(s *stage, id string) {
			a, session := s.hijack(id, func(real coleo.Session) coleo.Session { return &cutSession{real, s.db, false} })
			s.followUp(id, "say one")
			s.stopDuring(a, session)
		}, 0, []string{"say one"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			id := s.arm("ada")
			c.kill(s, id)
			s.restart()
			s.until("it is told what became of it", func() bool {
				return len(s.events(id, coleo.EventRunEnd))+len(s.events(id, coleo.EventPromptLost)) == 1
			})
			if lost := s.events(id, coleo.EventPromptLost); len(lost) != c.lost {
				t.Errorf("%d prompts are called lost, want %d", len(lost), c.lost)
			}
			if paused := s.queue(id, coleo.QueueOrder{}).Paused; (paused != "") != (c.lost > 0) {
				t.Errorf("the queue is paused: %q", paused)
			}
			s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
			s.followUp(id, "say next")
			s.awaitPrompted("ada", append(c.want, "say next")...)
			s.awaitRuns(id, len(c.want)+1)
		})
	}
}

// stopDuring sends the queue through a session. The host agent is killed meanwhile.
func (s *stage) stopDuring(a *arm, session coleo.Session) {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	a.sendFirst(ctx, session)
}

func TestAQueueOutlivesItsArmUnlessTheConversationIsNew(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.whileDown(func() { // make the agent CLI able to resume a conversation
		raw, err := os.ReadFile(s.path("harnesses/fake.toml"))
		s.check(err)
		text := strings.Replace(string(raw), "queue = true", "queue = true\nresume = true", 1)
		s.check(os.WriteFile(s.path("harnesses/fake.toml"), []byte(text), 0o600))
		s.reg, err = registry.New(s.path("harnesses"), []string{s.path(testprogram.Hold)})
		s.check(err)
	})
	id := s.arm("ada")
	s.prompt(id, "pause 10m")
	s.followUp(id, "say one")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	s.followUp(id, "say two") // a stopped arm also accepts prompts
	if got := must[bus.ArmReport](s, bus.OpReport, bus.ArmOrder{Arm: id}).Queue; got == nil || got.Length != 2 {
		t.Fatalf("the report has the queue %+v", got)
	}
	o := s.order("ada")
	o.Config.Workdir, o.Config.Conversation, o.Resume = s.path("work-ada"), "c1", true
	must[bus.ArmReport](s, bus.OpSpawn, o)
	s.awaitPrompted("ada", "pause 10m", "say one", "say two")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueuePaused, Why: "a test"})
	s.followUp(id, "say three")
	s.queue(id, coleo.QueueOrder{Step: coleo.QueueResumed})
	s.awaitPrompted("ada", "pause 10m", "say one", "say two", "say three")
	s.awaitRuns(id, 4)

	s.awaitState(id, coleo.Idle)
	s.prompt(id, "pause 10m")
	s.followUp(id, "say four")
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	o.Resume = false
	must[bus.ArmReport](s, bus.OpSpawn, o)
	s.awaitState(id, coleo.Idle)
	if q := s.queue(id, coleo.QueueOrder{}); len(q.Entries) != 1 || !strings.Contains(q.Paused, "new conversation") {
		t.Errorf("with a new conversation the queue is %+v", q)
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: id})
	if gone := must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: id}); gone.Dropped != 1 {
		t.Errorf("the removal tells of %d prompts, want 1", gone.Dropped)
	}
}
