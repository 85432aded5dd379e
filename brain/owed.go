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

// owedChoices has what users have chosen while the disk had no room for the rows of their arms.
type owedChoices struct {
	mu   sync.Mutex
	list map[string]*coleo.Chosen // by arm id
}

// storeOwedEvery is the time between two attempts to write the owed choices. It costs nothing while no
// choice is owed.
const storeOwedEvery = time.Second

// storingOwedChoices returns the task that writes the owed choices when the disk has room again.
func (b *Brain) storingOwedChoices() repeat.Task {
	return repeat.Task{ID: "store what users have chosen", Every: storeOwedEvery, Do: b.storeOwedChoices,
		Shutdown: func() {
			if err := b.storeOwedChoices(context.Background()); err != nil {
				b.Log.Error("store what users have chosen", "error", err)
			}
		}}
}

// storeOwedChoices writes the owed choices. While the disk is full, they stay in memory.
func (b *Brain) storeOwedChoices(ctx context.Context) error {
	b.owed.mu.Lock()
	defer b.owed.mu.Unlock()
	for id, chosen := range b.owed.list {
		err := b.storeChosen(ctx, id, chosen)
		if store.NoRoom(err) {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		delete(b.owed.list, id) // an error that is not the full disk would come again each time
		if err != nil && coleo.ErrorCode(err) != coleo.ENotFound {
			b.Log.Error("store what a user has chosen", "arm", id, "error", err)
		}
	}
	return nil
}

// owe keeps a choice for which the disk has no room.
func (b *Brain) owe(id string, chosen *coleo.Chosen) {
	b.owed.mu.Lock()
	defer b.owed.mu.Unlock()
	b.owed.list[id] = coleo.NewerChosen(chosen, b.owed.list[id])
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
