package rules

// The values of Spec.Redraw.
const (
	RedrawSignal  = "signal"
	RedrawRows    = "rows"
	RedrawColumns = "columns"
)

var redraws = []string{RedrawSignal, RedrawRows, RedrawColumns}
