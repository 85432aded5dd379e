package host

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
)

// boss starts an arm that may have subarms.
func (s *stage) boss() string {
	s.t.Helper()
	id := s.toolArm("boss")
	s.check(os.MkdirAll(s.path("work-boss/kid"), 0o700))
	return id
}

// asksFor makes the model of an arm ask for a subarm. It returns the result of the call, and the
// n-th question to a person.
func (s *stage) asksFor(id, key string, n int) (<-chan told, coleo.Suspension) {
	s.t.Helper()
	result := s.callTool(id, key, coleo.ToolSpawnArm, `{"name":"kid","prompt":"say hello","folder":"kid"}`)
	return result, s.asked(id, n)[n-1]
}

func (s *stage) approve(q coleo.Suspension) coleo.Suspension {
	s.t.Helper()
	return must[coleo.Suspension](s, bus.OpAnswer, bus.AnswerOrder{Arm: q.Arm, ID: q.ID, By: "me",
		Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
}

// kid returns the order with which serve starts the subarm that the question `q` asks for.
func (s *stage) kid(q coleo.Suspension) bus.SpawnOrder {
	return bus.SpawnOrder{ID: q.Request.Arm, Name: q.Request.Name, Harness: q.Request.Harness, Request: q.ID,
		Config: coleo.SpawnConfig{Workdir: q.Request.Workdir, Parent: q.Arm, Depth: 1, Tools: coleo.ArmTools()},
		First:  &coleo.Queued{ID: q.ID, Text: q.Request.Prompt, By: "arm boss"}}
}

const hello = "Message from the arm boss: say hello"

// Serve and the host agent are killed, and the order to start a subarm is repeated. There must be
// only one subarm, and it must receive its prompt once.
func TestM19ASubarmStartsOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	boss := s.boss()
	result, q := s.asksFor(boss, "k1", 1)
	if list := must[[]coleo.Suspension](s, bus.OpRequests, nil); len(list) != 0 {
		t.Fatalf("serve is to carry out %+v before the approval", list)
	}
	s.restart()
	s.approve(q)
	s.restart()
	list := must[[]coleo.Suspension](s, bus.OpRequests, nil)
	if len(list) != 1 || list[0].ID != q.ID || list[0].Request == nil || s.host.newBeat().Requests != 1 {
		t.Fatalf("serve is to carry out %+v", list)
	}
	first := must[bus.ArmReport](s, bus.OpSpawn, s.kid(list[0]))
	kid := q.Request.Arm
	s.awaitRuns(kid, 1) // wait, because a restart while the prompt is being sent would lose the prompt
	s.host.MaxArms = 2  // boss and kid run, so the limit is reached; a subarm that already runs must not need more room
	for range 2 {
		again := must[bus.ArmReport](s, bus.OpSpawn, s.kid(list[0]))
		if again.Generation != 1 || again.Handle.Process != first.Handle.Process {
			t.Errorf("the order again started generation %d", again.Generation)
		}
		s.restart()
	}
	s.awaitPrompted("boss/kid", hello)
	if n := len(s.events(kid, coleo.EventSpawned)); n != 1 {
		t.Errorf("the subarm was started %d times", n)
	}
	done := bus.SettleOrder{ID: q.ID, Outcome: coleo.RequestOutcome{Text: "it runs"}}
	must[struct{}](s, bus.OpSettle, done)
	done.Outcome = coleo.RequestOutcome{Text: "no", Failed: true}
	must[struct{}](s, bus.OpSettle, done) // changes nothing
	if r := <-result; r.err != nil || r.text != "it runs" {
		t.Errorf("the model is told %+v", r)
	}
	if list := must[[]coleo.Suspension](s, bus.OpRequests, nil); len(list) != 0 || s.host.newBeat().Requests != 0 {
		t.Errorf("serve is to carry out %+v", list)
	}
	if r := <-s.callTool(boss, "k2", coleo.ToolAwaitArm, `{}`); r.err != nil || !strings.Contains(r.text, "finished") {
		t.Errorf("await_arm = %+v", r)
	}
	if r := <-s.callTool(boss, "k3", coleo.ToolListArms, `{}`); !strings.Contains(r.text, "boss.kid (subarm): idle") {
		t.Errorf("list_arms = %+v", r)
	}
}

// A kill has cut off the start of a subarm. The next order must end the remains, and must start the
// subarm again.
func TestM19ACutStartOfASubarmIsDoneAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, q := s.asksFor(s.boss(), "k1", 1)
	order := s.kid(s.approve(q))
	first := *order.First
	order.First = nil // The prompt is typed after the last write of a start. A start without that write has not typed it.
	must[bus.ArmReport](s, bus.OpSpawn, order)
	s.awaitState(q.Request.Arm, coleo.Idle)
	kid, err := s.host.arm(q.Request.Arm)
	s.check(err)
	handle := kid.record.Handle
	s.halt() // while no host agent runs, the test now undoes the last write of the start
	db, err := openHostDB(s)
	s.check(err)
	record, err := db.Arm(t.Context(), q.Request.Arm)
	s.check(err)
	record.Handle, record.Queue = nil, &coleo.Queue{Entries: []coleo.Queued{first}}
	s.check(db.PutArm(t.Context(), record))
	s.check(db.Close())
	s.check(os.Remove(s.path("arms/" + q.Request.Arm + "/arm.json")))
	s.endArm(*handle)
	s.start()
	order.First = &first
	if again := must[bus.ArmReport](s, bus.OpSpawn, order); again.Generation < 2 || again.Proof != bus.Proven {
		t.Errorf("the order again: %+v", again)
	}
	s.awaitState(q.Request.Arm, coleo.Idle)
	s.awaitPrompted("boss/kid", hello)
}

// A kill between a start and its last write leaves a start that the next host agent finds in the
// arm's folder. The first prompt must still be in the queue, and the subarm must not be started
// again.
func TestM19ASubarmThatIsFoundInItsFolderGetsItsPrompt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, q := s.asksFor(s.boss(), "k1", 1)
	order := s.kid(s.approve(q))
	first := *order.First
	order.First = nil
	must[bus.ArmReport](s, bus.OpSpawn, order)
	s.awaitState(q.Request.Arm, coleo.Idle)
	s.halt() // undo the last write of the start while no host agent runs
	db, err := openHostDB(s)
	s.check(err)
	record, err := db.Arm(t.Context(), q.Request.Arm)
	s.check(err)
	record.Handle, record.Queue = nil, &coleo.Queue{Entries: []coleo.Queued{first}}
	s.check(db.PutArm(t.Context(), record))
	s.check(db.Close())
	s.start()
	order.First = &first
	if again := must[bus.ArmReport](s, bus.OpSpawn, order); again.Generation != 1 {
		t.Errorf("the order again started generation %d", again.Generation)
	}
	s.awaitPrompted("boss/kid", hello)
}

func TestM19WhatAModelMayNotHave(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	boss := s.boss()
	for args, want := range map[string]coleo.Code{
		`{"name":"kid","prompt":"x","folder":".."}`:                     coleo.EForbidden,
		`{"name":"kid","prompt":"x","folder":"/"}`:                      coleo.EForbidden,
		`{"name":"kid","prompt":"x","harness":"generic"}`:               coleo.EForbidden,
		`{"name":"kid","prompt":"x","harness":"fake"}`:                  coleo.EForbidden,
		`{"name":"kid","prompt":"x","permission_mode":"all"}`:           coleo.EForbidden,
		`{"name":"kid","prompt":"x","env":{"A":"b"}}`:                   coleo.EInvalid,
		`{"name":"kid","prompt":"x","args":["-x"]}`:                     coleo.EInvalid,
		`{"name":"kid","prompt":"x","wrap":["sh"]}`:                     coleo.EInvalid,
		`{"name":"kid","prompt":"x","mcp_servers":[{"command":"sh"}]}`:  coleo.EInvalid,
		`{"name":"../kid","prompt":"x"}`:                                coleo.EInvalid,
		`{"prompt":"x"}`:                                                coleo.EInvalid,
		`{"name":"kid"}`:                                                coleo.EInvalid,
		`{"name":"kid","prompt":"` + strings.Repeat("x", 40_000) + `"}`: coleo.EInvalid,
	} {
		r := <-s.callTool(boss, "k"+args[:min(len(args), 60)], coleo.ToolSpawnArm, args)
		if coleo.ErrorCode(r.err) != want {
			t.Errorf("spawn_arm %.80s = %+v, want %s", args, r, want)
		}
	}
	if asked := s.events(boss, coleo.EventSuspension); len(asked) != 0 {
		t.Errorf("a person was asked %d times", len(asked))
	}
	for n := range 4 {
		s.callTool(boss, "m"+string(rune('a'+n)), coleo.ToolSpawnArm, `{"name":"kid`+string(rune('a'+n))+`","prompt":"x"}`)
		s.asked(boss, n+1)
	}
	for name, want := range map[string]coleo.Code{"more": coleo.EConflict, "kida": ""} {
		result := s.callTool(boss, "n"+name, coleo.ToolSpawnArm, `{"name":"`+name+`","prompt":"x"}`)
		if want == "" { // the same call again leads to the same question
			continue
		}
		if r := <-result; coleo.ErrorCode(r.err) != want {
			t.Errorf("one more subarm = %+v, want %s", r, want)
		}
	}
	s.asked(boss, 4)
}

// A subarm's folder was approved, but now leads out of the parent's folder. It must be checked again when the
// subarm starts.
func TestM19AFolderThatMovesOutIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, q := s.asksFor(s.boss(), "k1", 1)
	q = s.approve(q)
	s.check(os.Remove(s.path("work-boss/kid")))
	s.check(os.Symlink(s.dir, s.path("work-boss/kid")))
	s.refused(coleo.EForbidden, bus.OpSpawn, s.kid(q))
	if _, err := s.host.arm(q.Request.Arm); err == nil {
		if n := len(s.events(q.Request.Arm, coleo.EventSpawned)); n != 0 {
			t.Errorf("the subarm was started %d times", n)
		}
	}
}

// A message must be delivered exactly once, even after kills. It can go only to a subarm or to the
// parent.
func TestM19AMessageArrivesOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	boss := s.boss()
	_, q := s.asksFor(boss, "k1", 1)
	q = s.approve(q)
	must[bus.ArmReport](s, bus.OpSpawn, s.kid(q))
	must[struct{}](s, bus.OpSettle, bus.SettleOrder{ID: q.ID, Outcome: coleo.RequestOutcome{Text: "it runs"}})
	kid := q.Request.Arm
	s.awaitRuns(kid, 1)

	down := s.callTool(boss, "k2", coleo.ToolMessageArm, `{"to":"boss.kid","text":"say down"}`)
	m := s.asked(boss, 2)[1]
	if len(s.prompted("boss/kid")) != 1 {
		t.Error("the message was sent before the approval")
	}
	s.restart()
	s.approve(m)
	s.awaitRuns(kid, 2)
	s.restart()
	s.refused(coleo.EStale, bus.OpAnswer, bus.AnswerOrder{Arm: boss, ID: m.ID,
		Decision: coleo.Decision{Choice: coleo.ChoiceApprove}})
	if r := <-down; r.err != nil || !strings.Contains(r.text, "queue of the arm boss.kid") {
		t.Errorf("message_arm = %+v", r)
	}
	s.awaitPrompted("boss/kid", hello, "Message from the arm boss: say down")

	up := s.callTool(kid, "k3", coleo.ToolMessageArm, `{"to":"parent","text":"say up"}`)
	s.approve(s.asked(kid, 1)[0])
	if r := <-up; r.err != nil {
		t.Errorf("message_arm to the parent = %+v", r)
	}
	s.awaitPrompted("boss", "Message from the arm boss.kid: say up")

	other := s.toolArm("other")
	for _, to := range []string{"boss", "boss.kid", kid, "parent"} {
		arguments, err := json.Marshal(map[string]string{"to": to, "text": "say hi"})
		s.check(err)
		r := <-s.callTool(other, "k-"+to, coleo.ToolMessageArm, string(arguments))
		if coleo.ErrorCode(r.err) != coleo.ENotFound {
			t.Errorf("a stranger's message to %s = %+v", to, r)
		}
	}
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: kid})
	if r := <-s.callTool(boss, "k4", coleo.ToolAwaitArm, `{"name":"boss.kid"}`); !strings.Contains(r.text, "has ended") {
		t.Errorf("await_arm of an ended subarm = %+v", r)
	}
	if r := <-s.callTool(boss, "k5", coleo.ToolMessageArm, `{"to":"boss.kid","text":"x"}`); coleo.ErrorCode(r.err) !=
		coleo.EExited {
		t.Errorf("a message to an ended subarm = %+v", r)
	}
}

// Serve is killed after it has started a subarm, and before it reports that. The user then removes the subarm. The
// request is carried out, so the next serve must not start the subarm again.
func TestARemovedSubarmIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	result, q := s.asksFor(s.boss(), "k1", 1)
	s.approve(q)
	must[bus.ArmReport](s, bus.OpSpawn, s.kid(q))
	kid := q.Request.Arm
	s.awaitRuns(kid, 1)
	must[bus.ArmReport](s, bus.OpKill, bus.ArmOrder{Arm: kid})
	must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: kid})
	if list := must[[]coleo.Suspension](s, bus.OpRequests, nil); len(list) != 0 {
		t.Errorf("serve is to carry out %+v", list)
	}
	if r := <-result; r.err != nil || !strings.Contains(r.text, "has removed it") {
		t.Errorf("the model is told %+v", r)
	}
}

// A subarm could not be started, so serve removes it. The model must learn why, and not that the subarm was started.
func TestARemovedSubarmThatWasNeverStartedLeavesItsRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, q := s.asksFor(s.boss(), "k1", 1)
	order := s.kid(s.approve(q))
	order.Config.Workdir = s.path("nowhere")
	s.refused(coleo.EInvalid, bus.OpSpawn, order)
	must[bus.Removed](s, bus.OpRemove, bus.ArmOrder{Arm: q.Request.Arm})
	if list := must[[]coleo.Suspension](s, bus.OpRequests, nil); len(list) != 1 {
		t.Errorf("serve is to carry out %+v, want the request of the subarm", list)
	}
}
