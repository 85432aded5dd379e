package runner

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev/brain"
	"coleo.dev/sqlite"
)

// There is no host agent yet, and serve cannot store that the run waits for one, for example because the disk is full.
// The next attempt must count as a first attempt. The brain would refuse a repeated attempt, because it has no row of
// the arm.
func TestARunThatWaitsIsNoRepetitionIfThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.schedule("n", b.dir)
	b.runNow("n", 1)
	db, err := sqlite.Open(filepath.Join(b.dir, "serve.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			t.Error(err)
		}
	}
	exec(`CREATE TRIGGER refuse BEFORE UPDATE ON trigger_history WHEN NEW.state = 'accepted'
		BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	b.result, b.fault = brain.OnceLater, errors.New("no host agent")
	b.does()
	exec("DROP TRIGGER refuse")
	b.tells("after the first attempt", "run starting0")
	b.result, b.fault = brain.OnceStarted, nil
	b.does()
	if len(b.orders) != 2 || b.orders[1].Again || b.orders[0] != b.orders[1] {
		t.Errorf("the attempts are %+v, want twice the same", b.orders)
	}
	b.tells("after the second attempt", "run started0")
}

// The host agent dies while it starts the arm of a run, and comes back the next day. The arm must not start then.
func TestARepeatedStartIsLateAfterTenMinutes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.schedule("n", b.dir)
	b.runNow("n", 1)
	b.result, b.fault = brain.OnceUnknown, errors.New("the host agent has ended")
	b.does()
	b.pass(maxDelay + time.Second)
	b.result, b.fault = brain.OnceRefused, errors.New("it was not started in time")
	b.does()
	if len(b.orders) != 2 || b.orders[0].Late || !b.orders[1].Late || !b.orders[1].Again {
		t.Errorf("the attempts are %+v, want that the second one is late", b.orders)
	}
	b.tells("after the second attempt", "run failed0")
}
