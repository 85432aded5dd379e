// Package choices copies a user's choices for an arm, such as labels. It copies them from the arm's row into the
// arm's start configuration, and back.
//
// The choices are in the field Chosen of the configuration. Some of them are also in fields of the row, such as
// Labels. A choice that is only in the row is lost with serve.db. A choice that is only in the configuration is
// missing in lists.
package choices

import (
	"maps"
	"reflect"

	"coleo.dev"
)

// Copy copies the choices of the row `from` into the row `to`. A fork, a subarm and a successor inherit the choices
// that Copy copies, and no others.
func Copy(to *coleo.Arm, from coleo.Arm) {
	to.Labels = maps.Clone(from.Labels)
}

// ToConfig copies the choices of a row into the configuration c.
func ToConfig(c *coleo.SpawnConfig, row coleo.Arm) {
	next := c.Chosen.Change(func(now *coleo.Chosen) { now.Labels = maps.Clone(row.Labels) })
	var before coleo.Chosen
	if c.Chosen != nil {
		before = *c.Chosen
	}
	changed := *next
	if changed.Number = before.Number; !reflect.DeepEqual(changed, before) {
		c.Chosen = next
	}
}

// ToRow copies the choices of the configuration c into a row. If c contains no coleo.Chosen, the row stays as it is.
func ToRow(row *coleo.Arm, c coleo.SpawnConfig) {
	if c.Chosen != nil {
		row.Labels = maps.Clone(c.Chosen.Labels)
	}
}
