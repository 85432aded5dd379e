package pack

import (
	"os"
	"path/filepath"
	"testing"

	"coleo.dev"
)

// Add is killed, or the disk becomes full, before the new pack is written. The pack in use must stay in use.
func TestAnUpgradeThatFailsKeepsThePackInUse(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	store := newTrusting(t, s)
	if _, err := store.Add("p", s.pack(1, ruleText), today(), accept); err != nil {
		t.Fatal(err)
	}
	// A folder in the place of the pack makes the write fail. Afterwards the test puts the pack back.
	path, aside := filepath.Join(store.Dir(), "mine.pack"), filepath.Join(t.TempDir(), "mine.pack")
	block := func(*Pack) error {
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		return os.Mkdir(path, 0o700)
	}
	if _, err := store.Add("p", s.pack(2, ruleText), today(), block); err == nil {
		t.Fatal("the pack was written in place of a folder")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, store, today(), 1)
	if _, err := store.Add("p", s.pack(2, ruleText), today(), accept); err != nil {
		t.Errorf("the upgrade again gives %v", err)
	}
	wantInstalled(t, store, today(), 2)
}

// Add is killed after it has written the new pack, and before it has written the new serial. Then the new pack is in
// use. No older pack may be added, even after a remove.
func TestAnUpgradeThatIsCutOffForgetsNoSerial(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	old, middle, newer := s.pack(1, ruleText), s.pack(2, ruleText), s.pack(3, ruleText)
	for name, step := range map[string]func(Store) error{
		"at once":        func(Store) error { return nil },
		"after a remove": func(store Store) error { return store.Remove("mine") },
	} {
		store := newTrusting(t, s)
		if _, err := store.Add("p", old, today(), accept); err != nil {
			t.Fatal(err)
		}
		if err := store.replace("mine"+packEnd, newer); err != nil {
			t.Fatal(err)
		}
		wantInstalled(t, store, today(), 3)
		if err := step(store); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{old, middle} {
			if _, err := store.Add("p", data, today(), accept); coleo.ErrorCode(err) != coleo.EForbidden {
				t.Errorf("%s: an older pack gives %v, want %s", name, err, coleo.EForbidden)
			}
		}
		if _, err := store.Add("p", newer, today(), accept); err != nil {
			t.Errorf("%s: the same pack gives %v", name, err)
		}
		wantInstalled(t, store, today(), 3)
	}
}
