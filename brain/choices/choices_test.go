package choices

import (
	"maps"
	"testing"

	"coleo.dev"
)

func TestLabelsAreInTheRowAndInTheConfiguration(t *testing.T) {
	t.Parallel()
	labels := coleo.Labels{"team": "a"}
	var c coleo.SpawnConfig
	var row, other coleo.Arm
	Copy(&row, coleo.Arm{Labels: labels})
	ToConfig(&c, row)
	ToRow(&other, c)
	if !maps.Equal(other.Labels, labels) || c.Chosen.Number != 1 {
		t.Errorf("the configuration contains %+v, and the row that is made from it has %v", c.Chosen, other.Labels)
	}
	row.Labels["team"] = "b"
	if labels["team"] != "a" || other.Labels["team"] != "a" || c.Chosen.Labels["team"] != "a" {
		t.Error("a copy shares its labels with another copy")
	}
	row.Labels = nil
	ToConfig(&c, row)
	ToRow(&other, c)
	if len(other.Labels) != 0 || c.Chosen.Number != 2 {
		t.Errorf("labels that were removed from the row are still in the configuration: %+v, %v", c.Chosen, other.Labels)
	}
}

func TestAnArmWithoutLabelsGetsNoChosen(t *testing.T) {
	t.Parallel()
	var c coleo.SpawnConfig
	ToConfig(&c, coleo.Arm{})
	row := coleo.Arm{Labels: coleo.Labels{"team": "a"}}
	ToRow(&row, c)
	if c.Chosen != nil || len(row.Labels) != 1 {
		t.Errorf("got %+v and %v, want no choices, and the labels as before", c.Chosen, row.Labels)
	}
}
