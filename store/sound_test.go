package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
)

func TestADamagedDatabaseIsNotOpenedAndMovedAsideWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.db")
	longLog(t, path).Close()
	if aside, err := SetAside(path, time.Now()); err != nil || aside != "" {
		t.Fatalf("a sound database was moved to %q, %v", aside, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	if _, err := f.WriteAt(make([]byte, page), 500*page); err != nil { // a page that opening the database does not read
		t.Fatal(err)
	}
	f.Close()
	h, err := OpenHost(path)
	if err == nil {
		h.Close()
	}
	if !Damaged(err) {
		t.Fatalf("open a damaged database = %v", err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	aside, err := SetAside(path, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(was) {
		t.Errorf("what was moved to %q is not what was there (%v)", aside, err)
	}
	h = hostAt(t, path)
	note(t, h, "in a new one")
	_, err = SetAside(path, time.Now())
	code(t, "move aside what is open", err, coleo.EConflict)
}
