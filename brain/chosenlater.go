package brain

import (
	"context"
	"encoding/json"

	"coleo.dev"
	"coleo.dev/brain/choices"
	"coleo.dev/brain/commands"
	"coleo.dev/bus"
)

// storeChosen writes what a user has chosen into the row of an arm. If the row contains a newer coleo.Chosen,
// storeChosen keeps it. It also passes the row to the function `also`, which can change further fields. `before` is
// the coleo.Chosen that the row had, or nil. `newest` is the one that the row gets: `chosen` or `before`.
func (b *Brain) storeChosen(ctx context.Context, id string, chosen *coleo.Chosen, also func(row *coleo.Arm,
	before, newest *coleo.Chosen)) error {
	_, err := b.DB.UpdateArm(ctx, id, func(row *coleo.Arm) error {
		c, err := row.DecodeConfig()
		if err != nil {
			return err
		}
		before := c.Chosen
		c.Chosen = coleo.NewerChosen(chosen, before)
		also(row, before, c.Chosen)
		row.Config, err = json.Marshal(c)
		return err
	})
	return err
}

// choicesToConfig copies what a user has chosen from an arm's row into the row's configuration. Call it for an arm of
// which the host has no copy, because the next start then passes the choices to the host.
func choicesToConfig(row *coleo.Arm) error {
	if len(row.Config) == 0 { // the row has no configuration yet, and completeRow will write all of it
		return nil
	}
	c, err := row.DecodeConfig()
	if err != nil {
		return err
	}
	choices.ToConfig(&c, *row)
	row.Config, err = json.Marshal(c)
	return err
}

// catchUpChosen copies the coleo.Chosen of an arm (the choices of a user) from the host into the arm's row. `number`
// is the number of the host's coleo.Chosen, as the host's last pulse reports it. If the row already has this number
// or a higher one, catchUpChosen does nothing. The row has a lower number if serve's disk was full, or if serve was
// killed before it wrote the row.
//
// If catchUpChosen returns nil, the row contains the coleo.Chosen with this number or a newer one. After an error,
// the next pulse tries again.
func (b *Brain) catchUpChosen(ctx context.Context, host, id string, number int) error {
	arm, err := b.DB.Arm(ctx, id)
	if err != nil {
		return err
	}
	if arm.AgentID != host {
		return coleo.Errorf(coleo.EConflict, "the arm %s belongs to %s now", arm.Name, arm.AgentID)
	}
	c, err := arm.DecodeConfig()
	if err != nil {
		return err
	}
	if c.Chosen != nil && c.Chosen.Number >= number {
		return nil
	}
	var report bus.ArmReport
	err = b.askAboutArm(ctx, arm, bus.OpReport, bus.DefaultTimeout, commands.OnArm(arm), &report)
	if err != nil {
		return err
	}
	if report.Config == nil || report.Config.Chosen == nil {
		return coleo.Errorf(coleo.EInternal, "the host of arm %s does not report what a user has chosen", arm.Name)
	}
	chosen := report.Config.Chosen
	err = b.storeChosen(ctx, id, chosen, func(row *coleo.Arm, before, newest *coleo.Chosen) {
		if newest == chosen && chosen.Model != "" && (before == nil || before.Model != chosen.Model) {
			row.DefaultModel, row.ModelFallback = chosen.Model, nil
		}
	})
	if err == nil {
		b.PublishArm(ctx, id)
	}
	return err
}
