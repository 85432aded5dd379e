package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// subagent returns the place of a subagent's tokens. This is the end of the call that has started
// the subagent, even if the call was cut off.
func (w *worker) subagent(p eventPart) []told {
	s := p.State
	if s.Metadata.Session == "" || s.Status != "completed" && s.Status != "error" {
		return nil
	}
	return []told{{subagent: s.Metadata.Session, entry: record.Entry{Position: w.seq}}}
}

// withSubagents puts the tokens of subagents at their places in a list. A subagent has a conversation
// of its own in the same database.
func (w *worker) withSubagents(tx *sql.Tx, list []told) []told {
	var out []told
	for _, t := range list {
		if t.subagent == "" {
			out = append(out, t)
			continue
		}
		out = append(out, w.tokensOf(tx, t)...)
	}
	return out
}

// tokensOf returns the tokens of each reply to a subagent that were not told yet. A later call can
// continue the same subagent.
func (w *worker) tokensOf(tx *sql.Tx, place told) (out []told) {
	rows, err := tx.QueryContext(context.Background(), `SELECT id, data FROM message WHERE session_id = ?
		AND length(data) <= ? ORDER BY time_created, id`, place.subagent, mostEvent)
	if err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var data []byte
		if rows.Scan(&id, &data) != nil {
			return out
		}
		var m eventInfo
		if json.Unmarshal(data, &m) != nil || m.Usage().Total() == 0 || w.told[id] {
			continue
		}
		w.told[id] = true
		e := record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(m.Usage()), Model: m.ModelID, Subagent: true}, "",
			time.UnixMilli(m.Time.Created))
		e.Position, e.Key = place.entry.Position, id
		out = append(out, told{entry: e})
	}
	return out
}
