package brain

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coleo.dev"
	"coleo.dev/bus"
	"coleo.dev/store"
)

// A host agent switches the mode while serve's disk is full. When there is room again, the row must
// contain the mode, even if serve was killed in between.
func TestAModeThatIsSwitchedOnAFullDiskIsWrittenLater(t *testing.T) {
	dir := t.TempDir()
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=12m") != nil {
		t.Skip("this machine does not allow a file system of its own")
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	switches := func(t *testing.T, name string) *scripted {
		s := newScriptedIn(t, dir, nil)
		check(t, s.db.CreateArm(t.Context(), coleo.Arm{ID: name, Name: name, Harness: "aider", AgentID: scriptedHost,
			Status: coleo.StatusIdle, State: coleo.Idle}))
		s.alwaysAnswer(bus.OpMode, bus.ModeReport{ModeSwitch: coleo.ModeSwitch{To: "plan"},
			Chosen: &coleo.Chosen{Number: 1, Mode: "plan"}})
		s.fill(dir, name)
		s.choosing(name, coleo.Chosen{Number: 1, Mode: "plan"})
		done, err := s.brain.SwitchMode(t.Context(), name, coleo.ModeOrder{Mode: "plan"})
		if err != nil || done.To != "plan" {
			t.Fatalf("%+v, %v", done, err)
		}
		s.alwaysAnswer(bus.OpLabel, bus.LabelReport{Chosen: &coleo.Chosen{Number: 2, Mode: "plan",
			Labels: coleo.Labels{"team": "a"}}})
		arm, err := s.brain.Label(t.Context(), name, coleo.LabelChange{Set: coleo.Labels{"team": "a"}})
		if err != nil || arm.Labels["team"] != "a" {
			t.Fatalf("labels: %+v, %v", arm.Labels, err)
		}
		if now := s.chosen(name).Mode; now != "" {
			t.Fatalf("the disk is not full: the row has the mode %q", now)
		}
		return s
	}
	t.Run("serve that lives", func(t *testing.T) {
		s := switches(t, "ada")
		check(t, os.Remove(filepath.Join(dir, "filler")))
		s.until("the row has the mode", func() bool { return s.chosen("ada").Mode == "plan" })
	})
	t.Run("serve that ends", func(t *testing.T) { switches(t, "bob") })
	check(t, os.Remove(filepath.Join(dir, "filler")))
	next := newScriptedIn(t, dir, nil)
	next.choosing("bob", coleo.Chosen{Number: 1, Mode: "plan"})
	next.until("the row has the mode", func() bool { return next.chosen("bob").Mode == "plan" })
}

// fill uses up the free room of a disk, and the room that SQLite has reserved in its files.
func (s *scripted) fill(dir, arm string) {
	s.t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	check(s.t, err)
	defer f.Close()
	for piece := make([]byte, 1<<16); len(piece) > 0; {
		if _, err := f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
	const most = 10_000 // the number of writes; SQLite reserves room for about 1000 pages
	for range most {
		err = s.brain.storeChosen(s.t.Context(), arm, &coleo.Chosen{}, func(_ *coleo.Arm, _, _ *coleo.Chosen) {})
		if err != nil {
			break
		}
		_, err = s.db.UpdateArm(s.t.Context(), arm, func(row *coleo.Arm) error {
			row.Rule = strings.Repeat("x", 1+len(row.Rule)%10_000)
			return nil
		})
		if err != nil {
			break
		}
	}
	if !store.NoRoom(err) {
		s.t.Fatalf("the disk is not full: %v", err)
	}
}
