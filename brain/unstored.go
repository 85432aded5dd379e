package brain

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"coleo.dev"
	"coleo.dev/brain/start"
	"coleo.dev/repeat"
	"coleo.dev/store"
)

// unstoredChoices has what users have chosen while the disk had no room for the rows of their arms.
type unstoredChoices struct {
	mu   sync.Mutex
	list map[string]*coleo.Chosen // by arm id
}

// storeLateEvery is the time between two attempts to store the waiting choices. It costs nothing while
// none waits.
const storeLateEvery = time.Second

// storingChoicesLate returns the task that stores the waiting choices when the disk has room again.
func (b *Brain) storingChoicesLate() repeat.Task {
	return repeat.Task{ID: "store what users have chosen", Every: storeLateEvery, Do: b.storeChoicesLate,
		Shutdown: func() {
			if err := b.storeChoicesLate(context.Background()); err != nil {
				b.Log.Error("store what users have chosen", "error", err)
			}
		}}
}

// storeChoicesLate stores the waiting choices. While the disk is full, they stay in memory.
func (b *Brain) storeChoicesLate(ctx context.Context) error {
	b.unstored.mu.Lock()
	defer b.unstored.mu.Unlock()
	for id, chosen := range b.unstored.list {
		err := b.storeChosen(ctx, id, chosen)
		if store.NoRoom(err) {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		delete(b.unstored.list, id) // an error that is not the full disk would come again each time
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			b.Log.Error("store what a user has chosen", "arm", id, "error", err)
		}
	}
	return nil
}

// storeLater keeps a choice for which the disk has no room.
func (b *Brain) storeLater(id string, chosen *coleo.Chosen) {
	b.unstored.mu.Lock()
	defer b.unstored.mu.Unlock()
	b.unstored.list[id] = coleo.NewerChosen(chosen, b.unstored.list[id])
}

// storeChosen writes a choice into the row of an arm, unless the row has a newer one.
func (b *Brain) storeChosen(ctx context.Context, id string, chosen *coleo.Chosen) error {
	_, err := b.DB.UpdateArm(ctx, id, func(row *coleo.Arm) error {
		c, err := start.Stored(*row)
		if err != nil {
			return err
		}
		c.Chosen = coleo.NewerChosen(chosen, c.Chosen)
		row.Config, err = json.Marshal(c)
		return err
	})
	return err
}
