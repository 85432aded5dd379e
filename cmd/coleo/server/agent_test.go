package server

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// A host agent was given an id by --id. Later 'coleo up' starts it without --id. The host agent must keep its id, even
// if the folder of an arm still names an earlier id. Otherwise serve would not find the host agent's stopped arms.
func TestAHostAgentKeepsTheIDThatItWasGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(id string) string {
		t.Helper()
		db, err := store.OpenHost(filepath.Join(dir, "host.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := nameHost(t.Context(), db, dir, id); err != nil {
			t.Fatal(err)
		}
		return db.Host()
	}
	first := start("")
	if !strings.HasPrefix(first, "agent-") || start("") != first {
		t.Fatalf("without --id the ids are %q and %q", first, start(""))
	}
	kept := armfolder.Kept{Host: first, Record: store.ArmRecord{ID: "arm-1", Name: "ada"}}
	if err := armfolder.Of(dir, "arm-1").Write(kept, false); err != nil {
		t.Fatal(err)
	}
	if start("laptop") != "laptop" {
		t.Fatal("--id has no effect")
	}
	if got := start(""); got != "laptop" {
		t.Errorf("after a restart the id is %q, want the former one, %q", got, "laptop")
	}
}
