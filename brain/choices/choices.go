// Package choices copies what users have chosen for an arm between the arm's row and its start configuration.
//
// A coleo.Chosen, a part of the configuration, contains these values. Some of them are fields of the row too, such
// as labels. A value that is only in the row is lost with serve.db. A value that is only in the configuration is
// missing in lists.
package choices

import (
	"maps"
	"reflect"

	"coleo.dev"
)

// Copy copies the choices of the row `from` into the row `to`. A fork, a subarm and a successor inherit them in
// this way. They do not inherit a value that Copy leaves out.
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
