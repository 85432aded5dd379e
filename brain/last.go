package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/wire"
)

// LastRun returns the newest ended run of an arm. It returns ENotFound if there is no
// such arm, or if no run of the arm has ended.
func (b *Brain) LastRun(ctx context.Context, idOrName string) (wire.LastRun, error) {
	arm, err := b.DB.Arm(ctx, idOrName)
	if err != nil {
		return wire.LastRun{}, err
	}
	b.catchUp(ctx, arm.AgentID)
	e, err := b.DB.LastRunEnd(ctx, arm.ID)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return wire.LastRun{}, coleo.Errorf(coleo.ENotFound, "no run of arm %s has ended yet", arm.Name)
	}
	if err != nil {
		return wire.LastRun{}, err
	}
	end, err := coleo.DecodeRunEnd(e)
	return wire.LastRun{Run: e.Run, Time: e.Time, RunEnd: end}, err
}
