package roster

import (
	"testing"
	"time"

	"coleo.dev/bus"
)

// A pulse is a host agent's short report about its arms. A pulse about all arms must not replace a report about
// one arm that the host agent made later.
func TestTheLaterWordOnAnArmStands(t *testing.T) {
	t.Parallel()
	now := time.Now()
	alive := bus.ArmPulse{ID: "a", Generation: 1, Attached: true, Process: bus.ProcessAlive}
	dead := bus.ArmPulse{ID: "a", Generation: 1, Process: bus.ProcessDead}
	other := bus.ArmPulse{ID: "b", Generation: 1, Attached: true, Process: bus.ProcessAlive}
	fresh := func() *knownHost {
		h := &knownHost{arms: map[string]bus.ArmPulse{}, parts: map[string]partPulse{}, confirmed: map[string]time.Time{},
			head: position{"e", 6}}
		h.storePulse(bus.Pulse{Epoch: "e", Head: 5, Arms: []bus.ArmPulse{alive, other}}, now)
		return h
	}
	h := fresh()
	if !h.notePart(dead, position{"e", 7}, now) || h.arms["a"] != dead {
		t.Errorf("what was said later of the arm is passed over: %+v", h.arms["a"])
	}
	if !h.upToDate("a") || h.upToDate("b") {
		t.Errorf("the log was read to 6; up to date are a: %t, of 7, and b: %t, of 5", h.upToDate("a"), h.upToDate("b"))
	}
	h.storePulse(bus.Pulse{Epoch: "e", Head: 6, Arms: []bus.ArmPulse{alive, other}}, now.Add(1))
	if h.arms["a"] != dead || !h.upToDate("b") {
		t.Errorf("an older pulse of all arms took over: %+v", h.arms["a"])
	}
	h.storePulse(bus.Pulse{Epoch: "e", Head: 8, Arms: []bus.ArmPulse{alive, other}}, now.Add(2))
	if h.arms["a"] != alive || len(h.parts) != 0 {
		t.Errorf("a newer pulse of all arms did not take over: %+v, %+v", h.arms["a"], h.parts)
	}
	for why, part := range map[string]struct {
		as position
		at time.Time
	}{
		"of an earlier log":           {position{"e", 4}, now},
		"of another log":              {position{"f", 9}, now},
		"asked for before that pulse": {position{"e", 5}, now.Add(-1)},
	} {
		if h := fresh(); h.notePart(dead, part.as, part.at) || h.arms["a"] != alive {
			t.Errorf("a word %s took over", why)
		}
	}
}
