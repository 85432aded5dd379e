package thread

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"coleo.dev"
	"coleo.dev/record"
)

// Query selects threads.
type Query struct {
	coleo.ThreadFilter
	Harnesses []string // only threads of these harnesses; all if empty
	Homes     []string // only threads in these HOMEs; all if empty
	Folder    string   // only threads with this work folder, by any path; all if empty
}

const (
	usualLimit = 50  // the number of threads in a list if the query sets no limit
	mostLimit  = 500 // the largest number of threads in a list
	mostPage   = 200 // the largest number of messages on a page
)

// columns lists the columns that scan reads.
const columns = `t.key, t.harness, t.home, t.path, t.id, t.folder, t.project, coalesce(nullif(o.title, ''), t.title),
	t.preview, t.begun, t.last, t.prompts, t.partly, CASE WHEN coalesce(o.deleted, 0) THEN 'deleted' ELSE t.hidden END`

const fromThreads = ` FROM threads t LEFT JOIN ours o ON o.harness = t.harness AND o.id = t.id`

// Row is a thread in the index.
type Row struct {
	coleo.Thread
	key int64
}

func scanRow(r interface{ Scan(...any) error }, out *Row, more ...any) error {
	var begun, last int64
	err := r.Scan(append([]any{&out.key, &out.Harness, &out.Home, &out.Path, &out.ID, &out.Folder, &out.Project,
		&out.Title, &out.Preview, &begun, &last, &out.Prompts, &out.Partly, &out.Hidden}, more...)...)
	out.Begun, out.Last = fromMillis(begun), fromMillis(last)
	return err
}

// where returns the SQL condition for a query, and its arguments.
func (q Query) where() (string, []any) {
	text, args := []string{"t.id <> ''"}, []any{}
	add := func(condition string, values ...any) {
		text, args = append(text, condition), append(args, values...)
	}
	in := func(column string, list []string) {
		if len(list) == 0 {
			return
		}
		values := make([]any, len(list))
		for i, v := range list {
			values[i] = v
		}
		add(column+" IN (?"+strings.Repeat(", ?", len(list)-1)+")", values...)
	}
	in("t.harness", q.Harnesses)
	in("t.home", q.Homes)
	if q.Harness != "" {
		add("t.harness = ?", q.Harness)
	}
	if q.ID != "" {
		add("t.id = ?", q.ID)
	}
	if q.Prefix != "" {
		add("substr(t.id, 1, length(?)) = ?", q.Prefix, q.Prefix)
	}
	if q.Folder != "" {
		in("t.folder", []string{q.Folder, record.RealFolder(q.Folder)})
	}
	if q.Project != "" {
		in("t.project", []string{Project(q.Project), Project(record.RealFolder(q.Project))})
	}
	if !q.Since.IsZero() {
		add("t.last >= ?", millis(q.Since))
	}
	if !q.Hidden {
		add("t.hidden = '' AND coalesce(o.deleted, 0) = 0")
	}
	return " WHERE " + strings.Join(text, " AND "), args
}

func (q Query) limit() int {
	if q.Limit <= 0 {
		return usualLimit
	}
	return min(q.Limit, mostLimit)
}

// List returns the threads that a query selects, newest first. It ignores q.Words.
func (x *Index) List(ctx context.Context, q Query) ([]Row, error) {
	where, args := q.where()
	rows, err := x.db.QueryContext(ctx, "SELECT "+columns+fromThreads+where+
		" ORDER BY t.last DESC, t.id LIMIT ?", append(args, q.limit())...)
	if err != nil {
		return nil, fmt.Errorf("read the index of conversations: %w", err)
	}
	defer rows.Close()
	var out []Row
	for rows.Next() {
		var r Row
		if err := scanRow(rows, &r); err != nil {
			return nil, fmt.Errorf("read the index of conversations: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Search returns the threads with a message that contains all words of a query, best match first.
// Each thread has the snippet of its best message. Search returns EUnsupported if this program has
// no full-text search, and EInvalid if the query contains no word.
func (x *Index) Search(ctx context.Context, q Query) ([]Row, error) {
	if !x.fullText {
		return nil, noFullText()
	}
	match := matchExpression(q.Words)
	if match == "" {
		return nil, coleo.Errorf(coleo.EInvalid, "%q has no word to search for", q.Words)
	}
	where, args := q.where()
	found, err := x.bestHits(ctx, match, where, args, q.limit())
	if err != nil {
		return nil, fmt.Errorf("search the conversations: %w", err)
	}
	for i := range found {
		if err := x.addSnippet(ctx, match, &found[i]); err != nil {
			return nil, fmt.Errorf("search the conversations: %w", err)
		}
	}
	out := make([]Row, len(found))
	for i, h := range found {
		out[i] = h.Row
	}
	return out, nil
}

// hit is a thread, and the message in it that matches best.
type hit struct {
	Row
	message int64
}

// bestHits returns the best-matching message of each thread.
func (x *Index) bestHits(ctx context.Context, match, where string, args []any, limit int) ([]hit, error) {
	rows, err := x.db.QueryContext(ctx, "WITH hits AS MATERIALIZED (SELECT rowid AS m, bm25(words) AS score FROM words "+
		"WHERE words MATCH ?) SELECT "+columns+", h.m, h.score FROM hits h JOIN messages m ON m.key = h.m "+
		"JOIN threads t ON t.key = m.thread LEFT JOIN ours o ON o.harness = t.harness AND o.id = t.id"+where+
		" ORDER BY h.score, t.last DESC, h.m", append([]any{match}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []hit
	seen := map[int64]bool{}
	for rows.Next() && len(out) < limit {
		var h hit
		if err := scanRow(rows, &h.Row, &h.message, &h.Rank); err != nil {
			return nil, err
		}
		if !seen[h.key] {
			seen[h.key] = true
			out = append(out, h)
		}
	}
	return out, rows.Err()
}

const (
	snippetWords = 16 // words of a snippet
	// FTS5 writes matchBegin before each word that matches, and matchEnd after it. matchParts
	// removes both.
	matchBegin, matchEnd = "\x02", "\x03"
)

// addSnippet adds the part of the message that contains the words of the query.
func (x *Index) addSnippet(ctx context.Context, match string, h *hit) error {
	var text string
	err := x.db.QueryRowContext(ctx,
		"SELECT snippet(words, 0, ?, ?, '…', ?) FROM words WHERE words MATCH ? AND rowid = ?", matchBegin, matchEnd,
		snippetWords, match, h.message).Scan(&text)
	if err == sql.ErrNoRows {
		return nil // the thread was read again in the meantime, so the message is gone
	}
	h.Match = matchParts(text)
	return err
}

// matchParts splits a snippet into the words that match and the rest.
func matchParts(text string) []coleo.SnippetPart {
	var out []coleo.SnippetPart
	add := func(text string, match bool) {
		text = strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, text)
		if text != "" {
			out = append(out, coleo.SnippetPart{Text: text, Match: match})
		}
	}
	for text != "" {
		before, rest, found := strings.Cut(text, matchBegin)
		add(before, false)
		if !found {
			break
		}
		word, after, _ := strings.Cut(rest, matchEnd)
		add(word, true)
		text = after
	}
	return out
}

// matchExpression turns the words of a user into an FTS5 expression. The message must contain each
// word, and each phrase in quotes. A * at the end of a word matches any ending. No other character
// has a special meaning. matchExpression returns "" if there is no word.
func matchExpression(words string) string {
	var out []string
	add := func(text string, phrase bool) {
		text = strings.ReplaceAll(text, "\x00", "")
		star := ""
		if !phrase && strings.HasSuffix(text, "*") {
			star = "*"
		}
		if strings.IndexFunc(text, isWord) >= 0 {
			out = append(out, `"`+text+`"`+star)
		}
	}
	for i, part := range strings.Split(words, `"`) {
		if i%2 == 1 {
			add(part, true)
			continue
		}
		for _, word := range strings.Fields(part) {
			add(word, false)
		}
	}
	return strings.Join(out, " ")
}
