package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// ThinAudit deletes the oldest records of commands that are outside the bound b. One
// call deletes at most 500 records.
func (s *ServeDB) ThinAudit(ctx context.Context, now time.Time, b Bound) (deleted int, err error) {
	oldest := now.Add(-b.Age)
	err = s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		done, err := tx.Exec(`DELETE FROM audit WHERE id IN (SELECT id FROM audit
			WHERE id <= (SELECT MAX(id) FROM audit) - ? OR ts < ? ORDER BY id LIMIT `+
			`?)`, b.Most, moment{&oldest}, thinRows)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete old commands: %w", err)
	}
	return deleted, nil
}

// ThinRuns deletes the oldest runs of one arm that are outside the bound b. It chooses
// the next arm after the given arm id, in the order of the ids, and returns the id of the
// chosen arm. It returns "" if no arm follows. One call deletes at most 500 runs.
//
// ThinRuns keeps a run as long as serve's log has an event of it.
func (s *ServeDB) ThinRuns(ctx context.Context, after string, now time.Time, b Bound) (arm string, deleted int,
	err error) {
	var id sql.NullString
	err = s.db.reader.QueryRowContext(ctx, "SELECT MIN(arm_id) FROM runs WHERE arm_id > ?", after).Scan(&id)
	if err != nil || !id.Valid {
		return "", 0, err
	}
	oldest := now.Add(-b.Age)
	err = s.db.write(ctx, ordinary, func(tx *sql.Tx) error {
		done, err := tx.Exec(`DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE arm_id = ?1
			AND (first <= (SELECT first FROM runs WHERE arm_id = ?1 ORDER BY first DESC LIMIT 1 OFFSET ?2)
				OR COALESCE(ended_at, started_at) < ?3)
			AND NOT EXISTS (SELECT 1 FROM run_events WHERE pos BETWEEN runs.first AND runs.last AND run_id = runs.id)
			ORDER BY first LIMIT ?4)`,
			id.String, b.Most, moment{&oldest}, thinRows)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return id.String, 0, fmt.Errorf("delete old runs of arm %s: %w", id.String, err)
	}
	return id.String, deleted, nil
}
