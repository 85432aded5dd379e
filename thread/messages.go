package thread

import (
	"context"
	"fmt"
	"unicode"

	"coleo.dev"
)

// isWord reports whether FTS5 treats a character as part of a word.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

// Messages returns a page of a thread's messages, and the number for the next page. It returns only messages with a
// number above `lastSeen`. The number for the next page is 0 if there are no more messages. Fill must have read the
// thread before.
func (x *Index) Messages(ctx context.Context, r Row, lastSeen, limit int) ([]coleo.ThreadMessage, int, error) {
	if limit <= 0 || limit > mostPage {
		limit = mostPage
	}
	rows, err := x.db.QueryContext(ctx, `SELECT n, kind, text, time FROM messages WHERE thread = ? AND n > ?
		ORDER BY n LIMIT ?`, r.key, lastSeen, limit+1)
	if err != nil {
		return nil, 0, fmt.Errorf("read a conversation: %w", err)
	}
	defer rows.Close()
	var out []coleo.ThreadMessage
	size := 0
	for rows.Next() {
		var m coleo.ThreadMessage
		var at int64
		if err := rows.Scan(&m.N, &m.Kind, &m.Text, &at); err != nil {
			return nil, 0, fmt.Errorf("read a conversation: %w", err)
		}
		if size += len(m.Text); len(out) == limit || len(out) > 0 && size > pageBytes {
			return out, out[len(out)-1].N, nil
		}
		m.Time = fromMillis(at)
		out = append(out, m)
	}
	return out, 0, rows.Err()
}

// pageBytes is the largest size of all texts on a page, in bytes. JSON makes texts longer, so it is far below 4 MiB,
// the limit of a message on the bus.
const pageBytes = 128 << 10
