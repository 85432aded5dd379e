package brain

import (
	"context"

	"coleo.dev"
	"coleo.dev/brain/start"
	"coleo.dev/bus"
	"coleo.dev/wire"
)

// OpenWindow opens the window of an arm, and returns the arm's row. If the request names no
// terminal, the window opens where it was before. OpenWindow returns ENotFound if there is no such
// arm. It returns EUnsupported if the arm's harness shows no window, and EConflict if the window is
// open. It returns EInvalid for variables that a window does not need, and EUnavailable if the host
// agent cannot be asked. Other errors come from the host agent.
func (b *Brain) OpenWindow(ctx context.Context, idOrName string, q wire.WindowRequest) (coleo.Arm, error) {
	if err := start.CheckWindow(q); err != nil {
		return coleo.Arm{}, err
	}
	if err := b.OrderAndCatchUp(ctx, idOrName, bus.OpWindow, spawnTimeout, func(arm coleo.Arm) any {
		return bus.WindowOrder{Arm: arm.ID, Place: start.WindowPlace(q)}
	}, nil); err != nil {
		return coleo.Arm{}, err
	}
	return b.Arm(ctx, idOrName)
}

// reopen opens the closed window of an arm, after the host agent has attached to the arm again. If the window cannot
// be opened, reopen returns a sentence for users.
func (b *Brain) reopen(ctx context.Context, arm coleo.Arm, q wire.WindowRequest) string {
	if arm.Window == nil || arm.Window.State == coleo.WindowOpen || arm.Window.State == coleo.WindowOpening {
		return ""
	}
	order := bus.WindowOrder{Arm: arm.ID, Place: start.WindowPlace(q)}
	err := b.askAboutArm(ctx, arm, bus.OpWindow, spawnTimeout, order, nil)
	if err == nil || coleo.ErrorCode(err) == coleo.EConflict {
		return ""
	}
	return "the arm runs, but its window was not opened again: " + err.Error()
}
