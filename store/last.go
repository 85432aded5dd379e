package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"coleo.dev"
)

// LastRunEnd returns the run_end event of the arm's newest ended run. The parameter arm
// is the arm's id. LastRunEnd ignores runs that only shortened the conversation. It
// returns ENotFound if no other run of the arm has ended.
func (s *ServeDB) LastRunEnd(ctx context.Context, arm string) (coleo.Event, error) {
	var e coleo.Event
	err := s.db.reader.QueryRowContext(ctx, "SELECT host, epoch, seq, "+columns(eventFields(&e))+
		" FROM run_events WHERE arm_id = ? AND kind = ? AND json_extract(payload, '$.compact') IS NULL ORDER BY pos DESC LIMIT 1", arm, string(coleo.EventRunEnd)).
		Scan(append([]any{&e.Host, &e.Epoch, &e.Seq}, cells(eventFields(&e))...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return e, coleo.Errorf(coleo.ENotFound, "no run of arm %s has ended yet", arm)
	}
	if err != nil {
		return e, fmt.Errorf("read the last run of arm %s: %w", arm, err)
	}
	return e, nil
}
