package files

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
)

func TestAGrantLastsUntilItsEndOrItsRevocation(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.GrantFile = filepath.Join(p.dir, "grants.json")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	g := Grant{ID: "g1", Arm: "arm-1", ArmName: "fix", Command: "make *", Made: now, Ends: now.Add(time.Hour)}
	p.check(p.Give(g, now))
	second := g
	second.ID, second.Ends = "g2", now.Add(2*time.Hour)
	p.check(p.Give(second, now))
	count := func(at time.Time) int {
		list, err := p.Grants(at)
		p.check(err)
		return len(list)
	}
	if a, b, c := count(now), count(now.Add(time.Hour)), count(now.Add(2*time.Hour)); a != 2 || b != 1 || c != 0 {
		t.Errorf("%d, %d and %d grants, want 2, 1 and 0", a, b, c)
	}
	p.check(p.Revoke("g1", now))
	if list, _ := p.Grants(now); len(list) != 1 || list[0] != second {
		t.Errorf("after the revocation: %+v", list)
	}
	if err := p.Revoke("g1", now); coleo.ErrorCode(err) != coleo.ENotFound {
		t.Errorf("a second revocation: %v", err)
	}
	if of := ForDecide([]Grant{g}); of[0].Arm != "arm-1" || of[0].Command != "make *" || !of[0].Ends.Equal(g.Ends) ||
		of[0].ID != "g1" {
		t.Errorf("for a decision: %+v", of)
	}
}

func TestAWrongGrantIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.GrantFile = filepath.Join(p.dir, "grants.json")
	now := time.Now()
	good := Grant{ID: "g1", Arm: "arm-1", Command: "make", Ends: now.Add(time.Hour)}
	for name, spoil := range map[string]func(*Grant){
		"no command":  func(g *Grant) { g.Command = " " },
		"no arm":      func(g *Grant) { g.Arm = "" },
		"no end":      func(g *Grant) { g.Ends = time.Time{} },
		"over by now": func(g *Grant) { g.Ends = now },
		"too long":    func(g *Grant) { g.Ends = now.Add(MaxGrant + time.Second) },
	} {
		g := good
		spoil(&g)
		if err := p.Give(g, now); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.write(p.GrantFile, `[{"id":"g1","command":"make","ends":"2999-01-01T00:00:00Z"}]`)
	if list, err := p.Grants(now); err == nil {
		t.Errorf("a file with a grant for each arm: %+v", list)
	}
}

// Two commands can change the grants at the same moment. If a change were lost, a revoked grant would still allow.
func TestTwoChangesOfTheGrantsBothCount(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.GrantFile = filepath.Join(p.dir, "grants.json")
	now := time.Now()
	const grants = 20
	of := func(n int) Grant {
		return Grant{ID: fmt.Sprint("g", n), Arm: "arm-1", Command: "make *", Made: now, Ends: now.Add(time.Hour)}
	}
	for n := range grants / 2 {
		p.check(p.Give(of(n), now))
	}
	var running sync.WaitGroup
	for n := range grants {
		running.Go(func() {
			err := error(nil)
			if n < grants/2 {
				err = p.Revoke(of(n).ID, now)
			} else {
				err = p.Give(of(n), now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	list, err := p.Grants(now)
	p.check(err)
	for _, g := range list {
		if len(g.ID) == len("g1") {
			t.Errorf("%s is revoked, and still granted", g.ID)
		}
	}
	if len(list) != grants/2 {
		t.Errorf("%d grants are left, want %d", len(list), grants/2)
	}
}

// A file that is too large to be read would make the policy ask about everything, and nobody could revoke a grant.
func TestAGrantForWhichTheFileHasNoRoomIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.GrantFile = filepath.Join(p.dir, "grants.json")
	now := time.Now()
	g := Grant{ID: "g1", Arm: "arm-1", Command: strings.Repeat("x", MaxSize*2/3), Made: now, Ends: now.Add(time.Hour)}
	p.check(p.Give(g, now))
	if err := p.Give(g, now); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a grant for which the file has no room: %v", err)
	}
	if list, err := p.Grants(now); err != nil || len(list) != 1 {
		t.Errorf("afterwards there are %d grants, %v", len(list), err)
	}
}
