package host

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/bus"
)

// family starts an arm and its subarm on host local. It also starts a host agent that does not have these arms.
func family(t *testing.T) (s, local *stage, boss, kid string) {
	t.Helper()
	s = newStage(t)
	local = s.serveItself()
	boss = local.boss()
	s.reg = local.reg
	s.restart() // the host agent must know the same harnesses
	_, q := local.asksFor(boss, "k1", 1)
	q = local.approve(q)
	must[bus.ArmReport](local, bus.OpSpawn, local.kid(q))
	must[struct{}](local, bus.OpSettle, bus.SettleOrder{ID: q.ID, Outcome: coleo.RequestOutcome{Text: "it runs"}})
	kid = q.Request.Arm
	local.until("the subarm has done its prompt", func() bool { return len(local.events(kid, coleo.EventRunEnd)) == 1 })
	return s, local, boss, kid
}

// release makes host local give an arm away. The host agent does not attach to the arm yet.
func (s *stage) release(local *stage, id string) {
	s.t.Helper()
	s.until("the host lets the arm go", func() bool {
		err := local.ask(bus.OpRelease, bus.ReleaseOrder{Arm: id, To: s.named}, nil)
		if err != nil && coleo.ErrorCode(err) != coleo.EBusy {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

// hurry sets the time that a tool call waits for a move to almost nothing.
func hurry(stages ...*stage) {
	for _, s := range stages {
		s.host.dispatcher.MoveWait = time.Nanosecond
	}
}

// checkMoving calls each tool that concerns another arm, while that arm is moving between two
// hosts.
func (s *stage) checkMoving(id, prefix, other, as string) {
	s.t.Helper()
	want := other + " (" + as + "): moving between two hosts"
	if r := <-s.callTool(id, prefix+"list", coleo.ToolListArms, `{}`); r.err != nil || !strings.Contains(r.text, want) {
		s.t.Errorf("list_arms = %+v, want %q", r, want)
	}
	calls := map[string]string{coleo.ToolMessageArm: `{"to":"` + other + `","text":"say hi"}`}
	if as == "subarm" {
		calls[coleo.ToolAwaitArm] = `{}`
		calls[coleo.ToolAwaitAnswer] = `{"id":"` + other + `"}`
	}
	for tool, arguments := range calls {
		if r := <-s.callTool(id, prefix+tool, tool, arguments); coleo.ErrorCode(r.err) != coleo.EBusy {
			s.t.Errorf("%s = %+v, want %s", tool, r, coleo.EBusy)
		}
	}
	if as != "subarm" {
		return
	}
	again := `{"name":"kid","prompt":"x"}`
	if r := <-s.callTool(id, prefix+"again", coleo.ToolSpawnArm, again); coleo.ErrorCode(r.err) != coleo.EConflict {
		s.t.Errorf("spawn_arm with a name that is taken = %+v", r)
	}
}

// A parent and its subarm move one after the other. The tools of both must always find the other
// arm. They must find it on the host that has just given it away, and on the host that has not
// attached to it yet.
func TestM19AFamilyIsWholeAtEachMomentOfAMove(t *testing.T) {
	t.Parallel()
	for first, move := range map[string][2]int{"the subarm first": {1, 0}, "the parent first": {0, 1}} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			s, local, boss, kid := family(t)
			hurry(s, local)
			ids, names, kinds := [2]string{boss, kid}, [2]string{"boss", "boss.kid"}, [2]string{"parent", "subarm"}
			moved, left := move[0], move[1]
			s.release(local, ids[moved])
			local.checkMoving(ids[left], "a", names[moved], kinds[moved])
			must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: ids[moved]})
			local.checkMoving(ids[left], "b", names[moved], kinds[moved])
			s.checkMoving(ids[moved], "c", names[left], kinds[left])
			s.release(local, ids[left])
			s.checkMoving(ids[moved], "d", names[left], kinds[left])
			must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: ids[left]})
			s.awaitState(boss, coleo.Idle) // the host reads the screens
			s.awaitState(kid, coleo.Idle)
			for at, id := range ids {
				want := names[1-at] + " (" + kinds[1-at] + "): idle"
				if r := <-s.callTool(id, "e", coleo.ToolListArms, `{}`); r.err != nil || !strings.Contains(r.text, want) {
					t.Errorf("after the move list_arms = %+v, want %q", r, want)
				}
			}
		})
	}
}

// A call in the middle of a move must wait, and must have the answer of the new host.
func TestM19ACallWaitsForTheEndOfAMove(t *testing.T) {
	t.Parallel()
	s, local, boss, kid := family(t)
	s.release(local, kid)
	list := s.callTool(boss, "k2", coleo.ToolListArms, `{}`)
	wait := s.callTool(boss, "k3", coleo.ToolAwaitArm, `{"name":"boss.kid"}`)
	local.until("host local has a call that waits", local.hasWaiting)
	s.release(local, boss)
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: boss})
	s.until("the host agent has a call that waits", s.hasWaiting)
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: kid})
	// The call is answered when the subarm has arrived, so its agent CLI may still be starting.
	arrived := []string{"boss.kid (subarm): idle", "boss.kid (subarm): initializing"}
	if r := <-list; r.err != nil ||
		!slices.ContainsFunc(arrived, func(s string) bool { return strings.Contains(r.text, s) }) {
		t.Errorf("list_arms = %+v", r)
	}
	if r := <-wait; r.err != nil || !strings.Contains(r.text, "boss.kid has no prompt left to do") {
		t.Errorf("await_arm = %+v", r)
	}
}

// hasWaiting reports whether a tool call waits for the arrival of an arm.
func (s *stage) hasWaiting() bool {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	return s.host.arrived != nil
}

// The subarm moves away while a call of its parent waits for it. The call must continue to wait.
func TestM19AWaitForASubarmThatMovesGoesOn(t *testing.T) {
	t.Parallel()
	s, local, boss, kid := family(t)
	local.prompt(kid, "pause 1m\nsay late") // runs until the test ends its arms
	wait := s.callTool(boss, "k2", coleo.ToolAwaitArm, `{}`)
	a, err := local.host.arm(kid)
	s.check(err)
	local.until("the call waits for the subarm", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.watched != nil
	})
	hurry(local)
	s.release(local, kid)
	if r := <-wait; coleo.ErrorCode(r.err) != coleo.EBusy || strings.Contains(r.text, "ended") {
		t.Errorf("await_arm = %+v, want %s", r, coleo.EBusy)
	}
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: kid})
}

// A person approves a message while the other arm is moving. The approval must be refused, so that
// the message is not lost.
func TestM19AMessageToAnArmThatMovesIsApprovedLater(t *testing.T) {
	t.Parallel()
	s, local, boss, kid := family(t)
	result := s.callTool(boss, "k2", coleo.ToolMessageArm, `{"to":"boss.kid","text":"say down"}`)
	m := local.asked(boss, 2)[1]
	yes := bus.AnswerOrder{Arm: boss, ID: m.ID, By: "me", Decision: coleo.Decision{Choice: coleo.ChoiceApprove}}
	s.release(local, kid)
	local.refused(coleo.EBusy, bus.OpAnswer, yes)
	select {
	case r := <-result:
		t.Errorf("message_arm = %+v, want it to wait", r)
	default:
	}
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: kid})
	local.refused(coleo.EBusy, bus.OpAnswer, yes)
}

// A subarm that has ended stays with host local. Its parent must find it from the host agent.
func TestM19ASubarmThatEndedBeforeTheMoveIsListed(t *testing.T) {
	t.Parallel()
	s, local, boss, kid := family(t)
	must[bus.ArmReport](local, bus.OpKill, bus.ArmOrder{Arm: kid})
	s.moveToHostAgent(local, boss)
	if r := <-s.callTool(boss, "k2", coleo.ToolListArms, `{}`); !strings.Contains(r.text, "boss.kid (subarm): ended") {
		t.Errorf("list_arms = %+v", r)
	}
	if r := <-s.callTool(boss, "k3", coleo.ToolAwaitArm, `{}`); !strings.Contains(r.text, "boss.kid has ended") {
		t.Errorf("await_arm = %+v", r)
	}
	if r := <-s.callTool(boss, "k4", coleo.ToolMessageArm, `{"to":"boss.kid","text":"x"}`); coleo.ErrorCode(r.err) !=
		coleo.EExited {
		t.Errorf("message_arm = %+v", r)
	}
}

// An arm calls a tool while host local gives the arm away. The arm must not receive the error that it has
// ended. It must receive the answer of the host agent.
func TestM19TheDoorIsClosedBeforeTheArmIsGivenAway(t *testing.T) {
	t.Parallel()
	s, local, boss, _ := family(t)
	hurry(s, local)
	a, err := local.host.arm(boss)
	s.check(err)
	done, err := a.beginNow()
	s.check(err)
	s.check(a.handTo(t.Context(), s.named))
	if _, err := os.Stat(s.doorOf(boss)); err == nil {
		t.Error("the door of an arm that was given away is open")
	}
	wait := s.callTool(boss, "k2", coleo.ToolListArms, `{}`)
	done()
	must[bus.ArmReport](s, bus.OpTake, bus.ArmOrder{Arm: boss})
	if r := <-wait; r.err != nil || !strings.Contains(r.text, "boss.kid (subarm)") {
		t.Errorf("list_arms = %+v", r)
	}
}
