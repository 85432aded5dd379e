package opencode

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// subagent returns a placeholder for the tokens of a subagent. It does so only if the event `p` ends the
// call that started the subagent, even if that call was interrupted. Otherwise it returns nothing.
func (w *worker) subagent(p eventPart) []workEntry {
	s := p.State
	if s.Metadata.Session == "" || s.Status != "completed" && s.Status != "error" {
		return nil
	}
	return []workEntry{{subagent: s.Metadata.Session, entry: record.Entry{Position: w.seq}}}
}

// withSubagents replaces the placeholders for subagents by the subagents' tokens. It reads the tokens
// from the subagents' own conversations in the same database.
func (w *worker) withSubagents(tx *sql.Tx, list []workEntry) []workEntry {
	var out []workEntry
	for _, t := range list {
		if t.subagent == "" {
			out = append(out, t)
			continue
		}
		out = append(out, w.tokensOf(tx, t)...)
	}
	return out
}

// repliesBelow selects the messages of the conversation of a subagent. It also selects the messages of all
// subagents that this subagent, or one of its own subagents, has started.
const repliesBelow = `WITH RECURSIVE below(id) AS (
		SELECT ?1 UNION SELECT session.id FROM session JOIN below ON session.parent_id = below.id)
	SELECT message.id, message.data FROM message JOIN below ON message.session_id = below.id
	WHERE length(message.data) <= ?2 ORDER BY message.time_created, message.id`

// tokensOf returns the new tokens of a subagent, and of the subagents that it has started itself. The model
// can continue the same subagent in a later call. So tokensOf remembers the replies whose tokens it has
// returned.
func (w *worker) tokensOf(tx *sql.Tx, place workEntry) (out []workEntry) {
	rows, err := tx.QueryContext(context.Background(), repliesBelow, place.subagent, mostEvent)
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
		if json.Unmarshal(data, &m) != nil || m.Usage().Total() == 0 || w.reported[id] {
			continue
		}
		w.reported[id] = true
		e := record.Worked(coleo.ReplyUsage{Usage: record.FromTranscript(m.Usage()), Model: m.ModelID, Subagent: true}, "",
			time.UnixMilli(m.Time.Created))
		e.Position, e.Key = place.entry.Position, id
		out = append(out, workEntry{entry: e})
	}
	return out
}
