package brain

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"coleo.dev"
	"coleo.dev/brain/commands"
	"coleo.dev/brain/placement"
	"coleo.dev/brain/roster"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/timelimit"
)

// This file orders the starts of arms. It writes an arm's row before it sends the order, chooses the generation, and
// stores the host agent's reply.

// order tells the host agent to start the next generation of an arm. It leaves the arm's row unchanged, because the
// host's events will change the row.
func (b *Brain) order(ctx context.Context, arm coleo.Arm, o bus.SpawnOrder) error {
	return b.orderWith(ctx, arm, o, b.askAboutArm)
}

// orderWith does the same as order, but sends the order with the function `ask`.
func (b *Brain) orderWith(ctx context.Context, arm coleo.Arm, o bus.SpawnOrder, ask askFunc) error {
	err := placement.CheckUnderstands(b.roster.BeatOf(arm.AgentID), o)
	if err == nil && o.Resume && o.Config.Conversation != "" {
		err = b.CheckThreadFree(ctx, o.Config.Conversation, arm.ID)
	}
	if err != nil {
		return err
	}
	if o.Config.Generation, err = b.nextGeneration(ctx, arm); err != nil {
		return err
	}
	var report bus.ArmReport
	limit := spawnTimeout
	if o.Config.Worktree != nil {
		limit += timelimit.Worktree
	}
	err = ask(ctx, arm, bus.OpSpawn, limit, o, &report)
	b.roster.CatchUp(ctx, arm.AgentID)
	if err == nil {
		b.noteMade(ctx, arm.ID, report.Config)
		b.roster.TakePulseOf(ctx, arm.AgentID, arm.ID)
		if o.Config.OnPartition == coleo.PartitionFreeze {
			_, _ = b.permits.Renew(ctx, arm.AgentID) // ignore the error, because Permits.Keep renews the permits later
		}
	}
	return err
}

func generationKey(arm string) string { return "generation." + arm }

// nextGeneration stores and returns a new generation number. No earlier order to start the arm has
// contained this number, not even an order that was never answered.
func (b *Brain) nextGeneration(ctx context.Context, arm coleo.Arm) (int, error) {
	b.numbering.Lock()
	defer b.numbering.Unlock()
	key := generationKey(arm.ID)
	text, err := b.DB.Setting(ctx, key)
	if err != nil {
		return 0, err
	}
	last, _ := strconv.Atoi(text) // if nothing is stored yet, text is empty, and last is 0
	next := max(last, arm.Generation) + 1
	return next, b.DB.SetSetting(ctx, key, strconv.Itoa(next))
}

// noteMade stores in the arm's row two facts that the host agent reports about a start. One is the worktree that the
// host agent has created. The other is the mechanism that enforces the limits of the sandbox. If the row cannot be
// written, it lacks both until the next start. The host agent has its own record of the worktree.
func (b *Brain) noteMade(ctx context.Context, id string, made *coleo.SpawnConfig) {
	if made == nil || made.Worktree == nil && !made.Sandbox.On() {
		return
	}
	_, _ = b.DB.UpdateArm(ctx, id, func(row *coleo.Arm) error {
		c, err := start.Stored(*row)
		if err != nil {
			return err
		}
		if made.Worktree != nil {
			c.Worktree, c.Workdir = made.Worktree, made.Workdir
		}
		if made.Sandbox.On() && c.Sandbox.On() {
			c.Sandbox.LimitedBy = made.Sandbox.LimitedBy
		}
		raw, err := json.Marshal(c)
		row.Config = raw
		return err
	})
}

// writeOrderedRow writes an arm's row before serve orders the start. `read` is the row that the caller has read, and
// `arm` is the row that the caller wants. read.ID is empty for a new arm, which has no row. writeOrderedRow writes
// only the fields in which `arm` and `read` differ. It keeps what others have changed in the row since the caller
// read it. It returns the row before and after the change.
func (b *Brain) writeOrderedRow(ctx context.Context, arm, read coleo.Arm) (was, ordered coleo.Arm, err error) {
	if read.ID == "" {
		return was, arm, b.DB.CreateArm(ctx, arm)
	}
	_, err = b.DB.UpdateArm(ctx, arm.ID, func(row *coleo.Arm) error {
		if row.Status != coleo.StatusStopped {
			return coleo.Errorf(coleo.EConflict, "Arm %s already exists with status: %s", row.Name, row.Status)
		}
		if !maps.Equal(row.Labels, arm.Labels) {
			return coleo.Errorf(coleo.EConflict, "the labels of arm %s were changed meanwhile: nothing was started", row.Name)
		}
		if numberOfChosen(*row) != numberOfChosen(read) {
			return coleo.Errorf(coleo.EConflict, "the mode, the model, the budget or what arm %s does at a limit was changed "+
				"meanwhile: nothing was started; start it again", row.Name)
		}
		was = *row
		eachField(row, read, arm, func(_, from, to any) bool { return !reflect.DeepEqual(from, to) })
		row.Generation = was.Generation
		ordered = *row
		return nil
	})
	return was, ordered, err
}

// numberOfChosen returns the number of the coleo.Chosen in a row, or 0 if the row has none.
func numberOfChosen(row coleo.Arm) int {
	if c := row.SpawnConfig(); c.Chosen != nil {
		return c.Chosen.Number
	}
	return 0
}

// eachField calls `choose` for each field, with the field's values in `row`, `from` and `to`. If `choose`
// returns true, eachField copies the field from `to` into `row`.
func eachField(row *coleo.Arm, from, to coleo.Arm, choose func(row, from, to any) bool) {
	r, f, t := reflect.ValueOf(row).Elem(), reflect.ValueOf(from), reflect.ValueOf(to)
	for i := range r.NumField() {
		if choose(r.Field(i).Interface(), f.Field(i).Interface(), t.Field(i).Interface()) {
			r.Field(i).Set(t.Field(i))
		}
	}
}

// undoOrderedRow undoes writeOrderedRow after the host agent has reported that it started nothing. It removes a new
// arm from its host, and deletes the arm's row. If the host agent keeps the arm, the row stays too. Otherwise nobody
// could see and remove the arm, and no other arm of the host could get its name. In the row of an arm that already
// existed, undoOrderedRow restores each field that nobody else has changed since. If an event of the host has changed
// the row since, undoOrderedRow leaves the whole row unchanged.
func (b *Brain) undoOrderedRow(ctx context.Context, ordered, was coleo.Arm) {
	ctx = context.WithoutCancel(ctx)
	if was.ID == "" {
		err := b.askAboutArm(ctx, ordered, bus.OpRemove, timelimit.Kill, commands.OnArm(ordered), nil)
		// After the other errors, the host has no such arm, or no host agent has received the order.
		gone := []coleo.Code{"", coleo.ENotFound, coleo.EUnavailable, coleo.EUnsupported}
		if bus.IsUnanswered(err) || !slices.Contains(gone, coleo.ErrorCode(err)) {
			b.Log.Warn("the host agent keeps an arm that was not started", "arm", ordered.Name, "error", err)
			b.PublishArm(ctx, ordered.ID)
			return
		}
		if err := b.DB.DeleteArm(ctx, ordered.ID); err == nil {
			b.PublishRemoved(ordered.ID)
		}
		return
	}
	_, _ = b.DB.UpdateArm(ctx, ordered.ID, func(row *coleo.Arm) error {
		if row.Rule == roster.RuleOrdered || row.Generation == was.Generation && row.Status == coleo.StatusStopped {
			eachField(row, ordered, was, func(now, from, _ any) bool { return reflect.DeepEqual(now, from) })
			// restore the configuration even if serve has copied the user's choices into it since then
			row.Config = was.Config
		}
		return nil
	})
}
