package thread

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"coleo.dev"
)

const (
	// refreshTime is how long one request may read headers, the beginnings and ends of the conversations' files. Reading
	// the headers of 2,000 long conversations takes about 2 s.
	refreshTime = 8 * time.Second
	// fillTime is how long one request may read messages. The sum of refreshTime and fillTime is
	// shorter than the time limit of a request to a host agent.
	fillTime = 12 * time.Second
)

// Keeper answers requests about threads. It opens the index at the first request. Several
// goroutines can use it at the same time.
type Keeper struct {
	Dir  string // the folder that contains the index and the file with titles and marks
	Name string // the name of the index, without its ending

	mu    sync.Mutex
	index *Index
}

func (k *Keeper) open(ctx context.Context) (*Index, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index != nil {
		return k.index, nil
	}
	x, err := Open(ctx, filepath.Join(k.Dir, k.Name+".db"), filepath.Join(k.Dir, "threads.json"))
	if err != nil {
		return nil, err
	}
	k.index = x
	return x, nil
}

// Close closes the index. A later request opens it again.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index == nil {
		return nil
	}
	x := k.index
	k.index = nil
	return x.Close()
}

// refreshedIndex returns the index after a refresh.
func (k *Keeper) refreshedIndex(ctx context.Context, places []Place) (x *Index, out coleo.ThreadList, err error) {
	if x, err = k.open(ctx); err != nil {
		return nil, out, err
	}
	limited, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	out.Unread, out.Failed, err = x.Refresh(limited, places)
	return x, out, ignoreTimeout(ctx, err)
}

// ignoreTimeout returns nil if err says that one step of a request, such as Refresh, has used up its own time. The
// index then contains what the step has done so far. If the time of the whole request is over, so that ctx has ended,
// ignoreTimeout returns err. It returns any other error unchanged.
func ignoreTimeout(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// List returns the threads that a query selects. It searches for the words of the query, if there
// are any. It returns the errors of Index.Search.
func (k *Keeper) List(ctx context.Context, places []Place, q Query) (coleo.ThreadList, error) {
	x, out, err := k.refreshedIndex(ctx, places)
	if err != nil {
		return out, err
	}
	var rows []Row
	if q.Words == "" {
		rows, err = x.List(ctx, q)
	} else {
		if !x.fullText {
			return out, noFullText()
		}
		limited, cancel := context.WithTimeout(ctx, fillTime)
		defer cancel()
		if unread, err := x.Fill(limited, places, ""); ignoreTimeout(ctx, err) != nil {
			return out, err
		} else {
			out.Unread += unread
		}
		rows, err = x.Search(ctx, q)
	}
	for _, r := range rows {
		out.Threads = append(out.Threads, r.Thread)
	}
	return out, err
}

// Show returns a thread with its messages. It returns only messages with a number above `lastSeen`, and at most
// `limit` messages. A limit of 0 means no messages. Show returns ENotFound if there is no such thread.
func (k *Keeper) Show(ctx context.Context, places []Place, harness, id string, lastSeen, limit int) (coleo.ThreadPage,
	error) {
	x, r, err := k.find(ctx, places, harness, id)
	if err != nil || limit == 0 {
		return coleo.ThreadPage{Thread: r.Thread}, err
	}
	if _, err := x.Fill(ctx, places, id); err != nil {
		return coleo.ThreadPage{}, err
	}
	if r, err = x.get(ctx, harness, id); err != nil {
		return coleo.ThreadPage{}, err
	}
	page := coleo.ThreadPage{Thread: r.Thread}
	page.Messages, page.Next, err = x.Messages(ctx, r, lastSeen, limit)
	return page, err
}

// Change changes Coleo's own data about a thread, and returns the changed thread. If the change is a deletion, Change
// returns the thread as it was before. It returns ENotFound if there is no such thread. Some changes delete the agent
// CLI's own file. Before such a change, the caller must make sure that no arm uses the thread.
func (k *Keeper) Change(ctx context.Context, places []Place, harness, id string, c coleo.ThreadChange) (coleo.Thread,
	error) {
	x, r, err := k.find(ctx, places, harness, id)
	if err != nil {
		return coleo.Thread{}, err
	}
	if c.Delete {
		return r.Thread, x.Delete(ctx, r, c.File)
	}
	if c.Title == nil {
		return r.Thread, nil
	}
	if err := x.Rename(ctx, r, *c.Title); err != nil {
		return coleo.Thread{}, err
	}
	r, err = x.get(ctx, harness, id)
	return r.Thread, err
}

func (k *Keeper) find(ctx context.Context, places []Place, harness, id string) (*Index, Row, error) {
	x, _, err := k.refreshedIndex(ctx, places)
	if err != nil {
		return nil, Row{}, err
	}
	r, err := x.get(ctx, harness, id)
	return x, r, err
}

// get returns the newest thread with the given id, even one that the user has deleted. If `harness` is "", the thread
// may belong to any harness. get returns ENotFound if there is no such thread.
func (x *Index) get(ctx context.Context, harness, id string) (Row, error) {
	if id == "" {
		return Row{}, noThread(harness, id)
	}
	rows, err := x.List(ctx, Query{ThreadFilter: coleo.ThreadFilter{Harness: harness, ID: id, Hidden: true, Limit: 1}})
	if err != nil {
		return Row{}, err
	}
	if len(rows) == 0 {
		return Row{}, noThread(harness, id)
	}
	return rows[0], nil
}

func noThread(harness, id string) error {
	if harness == "" {
		return coleo.Errorf(coleo.ENotFound, "no conversation %q on this host: 'coleo thread list --all' lists them", id)
	}
	return coleo.Errorf(coleo.ENotFound, "no conversation %q of %s on this host: 'coleo thread list --all' lists them",
		id, harness)
}
