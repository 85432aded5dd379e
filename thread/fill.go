package thread

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"coleo.dev/record"
)

const (
	// mostText is the largest number of bytes of a message that the index keeps. Longer messages
	// are usually pasted files. The index keeps only their beginning.
	mostText = 64 << 10
	// mostFile is the largest size in bytes of a file whose messages are read. Reading a larger
	// file would take longer than a few seconds.
	mostFile = 1 << 30
)

// stale is a thread whose messages have changed since they were read.
type stale struct {
	key                          int64
	harness, home, path, id, was string
}

// Fill reads the messages of the threads that have changed. If `onlyID` is not "", Fill reads only the thread with
// this id. If ctx ends first, Fill returns the number of threads that it has not read, and a later call continues
// with them.
func (x *Index) Fill(ctx context.Context, places []Place, onlyID string) (unread int, err error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	list, err := x.staleThreads(ctx, onlyID)
	if err != nil {
		return 0, err
	}
	at := map[place]Place{}
	for _, p := range places {
		at[place{p.Harness, p.Home}] = p
	}
	for n, s := range list {
		if ctx.Err() != nil {
			return len(list) - n, nil
		}
		p, ok := at[place{s.harness, s.home}]
		if !ok || p.Source.Open == nil {
			continue
		}
		if err := x.fillThread(context.WithoutCancel(ctx), p, s); err != nil {
			return len(list) - n, err
		}
	}
	return 0, nil
}

// staleThreads returns the threads whose messages must be read, newest first.
func (x *Index) staleThreads(ctx context.Context, only string) ([]stale, error) {
	rows, err := x.db.QueryContext(ctx, `SELECT t.key, t.harness, t.home, t.path, t.id, t.stamp FROM threads t
		LEFT JOIN ours o ON o.harness = t.harness AND o.id = t.id
		WHERE t.filled <> t.stamp AND t.id <> '' AND (?1 = '' OR t.id = ?1) AND coalesce(o.deleted, 0) = 0 AND t.size <= ?2
		ORDER BY t.last DESC`, only, mostFile)
	if err != nil {
		return nil, fmt.Errorf("read the index of conversations: %w", err)
	}
	defer rows.Close()
	var out []stale
	for rows.Next() {
		var s stale
		if err := rows.Scan(&s.key, &s.harness, &s.home, &s.path, &s.id, &s.was); err != nil {
			return nil, fmt.Errorf("read the index of conversations: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// fillThread replaces the messages of one thread.
func (x *Index) fillThread(ctx context.Context, p Place, s stale) error {
	list := readMessages(p, s)
	prompts := 0
	return x.write(ctx, func(tx *sql.Tx) error {
		if err := x.deleteMessages(ctx, tx, s.key); err != nil {
			return err
		}
		put, err := tx.PrepareContext(ctx, "INSERT INTO messages (thread, n, kind, text, time) VALUES (?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		for i, m := range list {
			if m.kind == record.Prompt {
				prompts++
			}
			done, err := put.ExecContext(ctx, s.key, i+1, string(m.kind), m.text, millis(m.time))
			if err != nil {
				return fmt.Errorf("write to the index of conversations: %w", err)
			}
			if err := x.addWords(ctx, tx, done, m); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE threads SET filled = ?, prompts = ?, partly = 0 WHERE key = ?", s.was, prompts,
			s.key)
		return err
	})
}

// addWords makes a message searchable, unless it is only the name of a tool.
func (x *Index) addWords(ctx context.Context, tx *sql.Tx, done sql.Result, m message) error {
	if !x.fullText || m.kind == record.Tool {
		return nil
	}
	key, err := done.LastInsertId()
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", key, m.text)
	}
	return err
}

// deleteMessages deletes the messages of a thread.
func (x *Index) deleteMessages(ctx context.Context, tx *sql.Tx, key int64) error {
	if x.fullText {
		if _, err := tx.ExecContext(ctx, `INSERT INTO words (words, rowid, text)
			SELECT 'delete', key, text FROM messages WHERE thread = ? AND kind <> ?`, key, string(record.Tool)); err != nil {
			return fmt.Errorf("write to the index of conversations: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM messages WHERE thread = ?", key); err != nil {
		return fmt.Errorf("write to the index of conversations: %w", err)
	}
	return nil
}

// message is one message of a thread.
type message struct {
	kind record.Kind
	text string
	time time.Time
}

// readMessages reads the prompts, the answers and the names of tools from a record, which is the agent CLI's own file
// of a conversation.
func readMessages(p Place, s stale) []message {
	tail := p.Source.Open(s.path, record.Where{Home: s.home, Conversation: s.id})
	defer tail.Close()
	var out []message
	for _, e := range tail.Next() {
		switch e.Kind {
		case record.Prompt:
			if !e.ByUser {
				continue // the agent CLI has written it, for example as a notice about a background task
			}
		case record.Answer:
		case record.Tool:
			if e.Text == "" {
				continue // this entry is the result of a tool
			}
		case record.Queued, record.End, record.Ready, record.Detail:
			continue
		}
		m := message{e.Kind, cut(e.Text), e.Time}
		if m.text == "" || len(out) > 0 && m.kind == record.Answer && out[len(out)-1].text == m.text {
			continue // skip an empty message, and an answer that the record contains twice
		}
		out = append(out, m)
	}
	return out
}

// cut returns at most the first mostText bytes of a text, as valid UTF-8.
func cut(text string) string {
	if len(text) > mostText {
		text = text[:mostText]
	}
	return strings.ToValidUTF8(text, "")
}
