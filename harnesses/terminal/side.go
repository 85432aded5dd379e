package terminal

import "coleo.dev/pty"

// cutSide cuts a sidebar on the right off the rows, if there is one.
func (c *Composer) cutSide(rows []string) {
	if c.side == nil {
		return
	}
	last := lastRows(rows, 1)
	if len(last) == 0 {
		return
	}
	at := c.side.FindStringIndex(last[0])
	if at == nil {
		return
	}
	edge := pty.Cells(last[0][:at[0]])
	for i, row := range rows {
		if len(row) > edge { // length in bytes; each cell has at least one
			rows[i] = pty.Cut(row, edge)
		}
	}
}
