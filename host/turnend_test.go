package host

import (
	"fmt"
	"path/filepath"
	"testing"

	"coleo.dev"
	"coleo.dev/sqlite"
)

// An agent CLI can report many errors before the one that ends its turn. That one says at which limit the turn has
// ended, so it must be kept.
func TestTheLastErrorOfATurnIsKept(t *testing.T) {
	t.Parallel()
	var errors turnErrors
	for i := range 2 * maxErrors {
		errors.keep(work{list: []coleo.Activity{{Work: coleo.Problem{Text: fmt.Sprint("error ", i)}}}})
	}
	list := errors.take()
	if want := fmt.Sprint("error ", 2*maxErrors-1); len(list) != maxErrors || list[len(list)-1] != want {
		t.Errorf("the errors are %q, want %d that end with %q", list, maxErrors, want)
	}
}

// The host agent cannot write that an arm is idle. The agent CLI then reports nothing more. The run must end
// nevertheless, because its queue waits for this end.
func TestARunEndsAlthoughTheLastStateCannotBeWritten(t *testing.T) {
	t.Parallel()
	n := newNotices(t)
	n.types("r1", "start")
	n.state(coleo.Processing)
	db, err := sqlite.Open(filepath.Join(n.dir, n.dbFile()), "")
	n.check(err)
	defer db.Close()
	_, err = db.Exec(`CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.kind = 'state'
		BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	n.check(err)
	idle := coleo.Change{Kind: coleo.ChangeState, Cursor: n.cursor + 1,
		Reading: coleo.Reading{State: coleo.Idle, Rule: "test", Known: true}}
	if err := n.a.note(t.Context(), n.session, idle); err == nil {
		t.Error("the state was written")
	}
	_, err = db.Exec("DROP TRIGGER refuse")
	n.check(err)
	if ends := n.ends(n.a.record.ID); len(ends) != 1 || n.a.openRun() != "" {
		t.Errorf("the runs have ended with %+v, and %q is open", ends, n.a.openRun())
	}
}
