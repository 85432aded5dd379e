package show

import (
	"bytes"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// Table lays out the rows of a list in columns. The caller writes each row with a tab between its
// cells, and calls Flush after the last row. It is for lists that people glance at. It is not for text
// that must be read to its end, such as an error, because a Table cuts long rows.
type Table struct {
	*tabwriter.Writer
	rows bytes.Buffer
	c    *cobra.Command
}

// NewTable returns an empty table for the output of a verb.
func NewTable(c *cobra.Command) *Table {
	t := &Table{c: c}
	t.Writer = tabwriter.NewWriter(&t.rows, 0, 0, 2, ' ', 0)
	return t
}

// Flush prints the rows and removes them from the table. On a terminal, it cuts off each row at the
// right edge, so that a row takes one line. Flush returns an error if the rows cannot be written.
func (t *Table) Flush() error {
	if err := t.Writer.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(Writer(t.c), CutLines(t.rows.String(), Width(t.c)))
	t.rows.Reset()
	return err
}
