package thread

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"coleo.dev/record"
)

// batch is the number of threads that are written in one transaction. If the time runs out, only
// the unfinished transaction is lost.
const batch = 100

// place identifies a Place in a map.
type place struct{ harness, home string }

// known is what the index stores about a record, the agent CLI's file or part of a file with one conversation.
type known struct {
	key   int64
	stamp string
}

// row identifies the record of one conversation among the records of one place.
type row struct{ path, name string }

// Refresh lists the threads in the given places, which are HOMEs of agent CLIs, and reads the headers of changed
// threads. It deletes all threads of other places from the index. If ctx ends first, it returns the number of unread
// threads. For each place that Refresh could not list, `failed` contains a text with the place and the reason.
func (x *Index) Refresh(ctx context.Context, places []Place) (unread int, failed []string, err error) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.takeOurs(ctx); err != nil {
		return 0, nil, err
	}
	all, err := x.storedRows(ctx)
	if err != nil {
		return 0, nil, err
	}
	projects := map[string]string{}
	for _, p := range places {
		at := place{p.Harness, p.Home}
		found, err := p.List.Find(ctx, p.Home)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s in %s: %v", p.Harness, p.Home, err))
			delete(all, at)
			continue
		}
		left, err := x.refreshPlace(ctx, p, found, all[at], projects)
		if err != nil {
			return unread, failed, err
		}
		unread += left
		delete(all, at)
	}
	for _, rows := range all { // forget the threads of all places that no longer exist
		if err := x.forget(ctx, rows); err != nil {
			return unread, failed, err
		}
	}
	return unread, failed, nil
}

// storedRows returns the records in the index, by place.
func (x *Index) storedRows(ctx context.Context) (map[place]map[row]known, error) {
	rows, err := x.db.QueryContext(ctx, "SELECT harness, home, path, name, key, stamp FROM threads")
	if err != nil {
		return nil, fmt.Errorf("read the index of conversations: %w", err)
	}
	defer rows.Close()
	out := map[place]map[row]known{}
	for rows.Next() {
		var at place
		var r row
		var k known
		if err := rows.Scan(&at.harness, &at.home, &r.path, &r.name, &k.key, &k.stamp); err != nil {
			return nil, fmt.Errorf("read the index of conversations: %w", err)
		}
		if out[at] == nil {
			out[at] = map[row]known{}
		}
		out[at][r] = k
	}
	return out, rows.Err()
}

// refreshPlace updates the threads of one place, which is the HOME of one agent CLI. `found` lists the records that
// exist, and `indexed` contains those that the index has. refreshPlace removes each existing record from `indexed`.
// Then it deletes the records that are left in `indexed` from the index, because they no longer exist.
func (x *Index) refreshPlace(ctx context.Context, p Place, found []record.Found, indexed map[row]known,
	projects map[string]string) (unread int, err error) {
	var changed []record.Found
	for _, f := range found {
		if !indexed[row{f.Path, f.Name}].matches(f.Stamp) {
			changed = append(changed, f)
		}
	}
	for done := range slices.Chunk(changed, batch) {
		if ctx.Err() != nil {
			break
		}
		if err := x.putAll(ctx, p, done, projects); err != nil {
			return 0, err
		}
		unread -= len(done)
	}
	for _, f := range found {
		delete(indexed, row{f.Path, f.Name})
	}
	// `found` lists all records, even if the time is over. So the records that remain in `indexed`
	// no longer exist.
	return unread + len(changed), x.forget(context.WithoutCancel(ctx), indexed)
}

func (k known) matches(stamp string) bool { return k.key != 0 && k.stamp == stamp }

// putAll reads the headers of the listed threads and stores them.
func (x *Index) putAll(ctx context.Context, p Place, list []record.Found, projects map[string]string) error {
	headers := make([]record.Header, len(list))
	wrong := make([]string, len(list))
	for i, f := range list {
		var err error
		if headers[i], err = p.List.Header(p.Home, f); err != nil {
			wrong[i], headers[i] = err.Error(), record.Header{}
		}
		if folder := headers[i].Folder; projects[folder] == "" {
			projects[folder] = Project(folder)
		}
	}
	// The batch is complete, so write it even if the time is over.
	ctx = context.WithoutCancel(ctx)
	return x.write(ctx, func(tx *sql.Tx) error {
		for i, f := range list {
			h := headers[i]
			_, err := tx.ExecContext(ctx, `INSERT INTO threads (harness, home, path, name, stamp, size, wrong, id, folder,
					project, title, preview, begun, last, prompts, partly, hidden)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
				ON CONFLICT DO UPDATE SET stamp = ?5, size = ?6, wrong = ?7, id = ?8, folder = ?9, project = ?10,
					title = ?11, preview = ?12, begun = ?13, last = ?14, prompts = ?15, partly = ?16, hidden = ?17`,
				p.Harness, p.Home, f.Path, f.Name, f.Stamp, f.Size, wrong[i], h.ID, h.Folder, projects[h.Folder],
				h.Title, h.Preview, millis(h.Begun), millis(h.Last), h.Prompts, h.Partly, string(h.Hidden))
			if err != nil {
				return fmt.Errorf("write to the index of conversations: %w", err)
			}
		}
		_, err := x.deleteTexts(ctx, tx) // the headers of deleted threads have texts too
		return err
	})
}

// forget deletes threads and their messages from the index.
func (x *Index) forget(ctx context.Context, list map[row]known) error {
	if len(list) == 0 {
		return nil
	}
	return x.write(ctx, func(tx *sql.Tx) error {
		for _, k := range list {
			if err := x.deleteMessages(ctx, tx, k.key); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "DELETE FROM threads WHERE key = ?", k.key); err != nil {
				return fmt.Errorf("write to the index of conversations: %w", err)
			}
		}
		return nil
	})
}

// Project returns the root of the git repository that contains a folder. If there is no repository,
// it returns the folder itself. The folder need not exist anymore.
func Project(folder string) string {
	for dir := folder; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return folder
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
