package codex

import (
	"strconv"
	"time"
)

// copied finds the original times of the lines that Codex has copied from another conversation. The rollout of a copy
// begins with the lines of the original, and Codex writes them with the time of the copy (0.169.0).
type copied struct {
	own    string    // the id of the rollout's conversation; "" before the first line
	isCopy bool      // the lines so far are from the original
	turn   time.Time // when the newest turn of the original began
}

// timeOf returns when the line l was first written. For a copied line, this is the beginning of its turn.
func (c *copied) timeOf(l recordLine) time.Time {
	p := l.Payload
	if l.Type == "session_meta" && c.own == "" {
		c.own, c.isCopy = p.ID, p.ForkedFrom != ""
	}
	if !c.isCopy {
		return l.Time
	}
	if p.Turn != "" {
		c.turn = madeAt(p.Turn)
	}
	if p.Thread == c.own || p.Turn != "" && !c.turn.Before(madeAt(c.own)) {
		c.isCopy = false
		return l.Time
	}
	if c.turn.IsZero() {
		return l.Time
	}
	return c.turn
}

// madeAt returns when an id of Codex was made: it begins with that time in milliseconds (UUID of version 7). For an id
// of another form, madeAt returns the zero time.
func madeAt(id string) time.Time {
	const digits, version = len("00000000-0000"), 14
	if len(id) <= version || id[version] != '7' {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(id[:8]+id[9:digits], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
