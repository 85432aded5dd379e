package server

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev/host/armfolder"
	"coleo.dev/store"
)

// A host agent has got an id by --id. 'coleo up' starts it again without --id. It must have the same id, even if the
// folder of an arm still names an earlier one. Otherwise serve would look for its stopped arms at the other id.
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
