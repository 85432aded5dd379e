package store

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// timeLayout is the format of stored times, in UTC and with a fixed width. Texts in this format
// sort in the order of their times, and people can read them.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// A cell converts a Go value to the value of a column and back. A zero value is stored as NULL,
// unless the comment of the cell's type says otherwise.
type cell interface {
	sql.Scanner
	driver.Valuer
}

// field is one column of a row: its name and its value.
type field struct {
	name string
	cell cell
}

// text is a value of any string type, stored as a text.
type text[T ~string] struct{ p *T }

func textOf[T ~string](p *T) cell { return text[T]{p} }

func (c text[T]) Value() (driver.Value, error) {
	if *c.p == "" {
		return nil, nil
	}
	return string(*c.p), nil
}

func (c text[T]) Scan(src any) error {
	var s sql.NullString
	err := s.Scan(src)
	*c.p = T(s.String)
	return err
}

// number is an integer, stored as an integer. If `kept` is true, zero is stored as 0 instead of NULL.
type number struct {
	p    *int
	kept bool
}

func (c number) Value() (driver.Value, error) {
	if *c.p == 0 && !c.kept {
		return nil, nil
	}
	return int64(*c.p), nil
}

func (c number) Scan(src any) error {
	var n sql.NullInt64
	err := n.Scan(src)
	*c.p = int(n.Int64)
	return err
}

// flag is a bool, stored as 0 or 1.
type flag struct{ p *bool }

func (c flag) Value() (driver.Value, error) { return *c.p, nil }

func (c flag) Scan(src any) error {
	var b sql.NullBool
	err := b.Scan(src)
	*c.p = b.Bool
	return err
}

// amount is a sum of money. A zero amount is stored as 0, not as NULL.
type amount struct{ p *float64 }

func (c amount) Value() (driver.Value, error) { return *c.p, nil }

func (c amount) Scan(src any) error {
	var n sql.NullFloat64
	err := n.Scan(src)
	*c.p = n.Float64
	return err
}

// moment is a time, stored as a text in the format timeLayout. The zero time is stored as NULL.
type moment struct{ p *time.Time }

func (c moment) Value() (driver.Value, error) {
	if c.p.IsZero() {
		return nil, nil
	}
	return c.p.UTC().Format(timeLayout), nil
}

func (c moment) Scan(src any) error {
	var s sql.NullString
	if err := s.Scan(src); err != nil || !s.Valid {
		*c.p = time.Time{}
		return err
	}
	t, err := time.Parse(timeLayout, s.String)
	*c.p = t
	return err
}

// raw is JSON from another program, stored unchanged as a text.
type raw struct{ p *json.RawMessage }

func (c raw) Value() (driver.Value, error) {
	if len(*c.p) == 0 {
		return nil, nil
	}
	return string(*c.p), nil
}

func (c raw) Scan(src any) error {
	var s sql.NullString
	err := s.Scan(src)
	*c.p = nil
	if s.Valid {
		*c.p = json.RawMessage(s.String)
	}
	return err
}

// document is any value that is stored as JSON. A JSON null is stored as NULL.
type document[T any] struct{ p *T }

func documentOf[T any](p *T) cell { return document[T]{p} }

func (c document[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(*c.p)
	if err != nil || string(b) == "null" {
		return nil, err
	}
	return string(b), nil
}

func (c document[T]) Scan(src any) error {
	var s sql.NullString
	var v T
	if err := s.Scan(src); err != nil {
		return err
	}
	if s.Valid {
		if err := json.Unmarshal([]byte(s.String), &v); err != nil {
			return fmt.Errorf("read a stored document: %w", err)
		}
	}
	*c.p = v
	return nil
}

// columns returns the column names for SELECT and INSERT.
func columns(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// cells returns the cells of the fields, as the arguments of a statement or as the targets of Scan.
func cells(fields []field) []any {
	out := make([]any, len(fields))
	for i, f := range fields {
		out[i] = f.cell
	}
	return out
}

// insertion returns the statement that inserts a row into a table.
func insertion(table string, fields []field) string {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(fields)), ", ")
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, columns(fields), marks)
}

// upsertStatement returns a statement that inserts a row, or updates the row with the same id if
// there is one. The first field is the id.
func upsertStatement(table string, fields []field) string {
	set := make([]string, 0, len(fields))
	for _, f := range fields[1:] {
		set = append(set, f.name+" = excluded."+f.name)
	}
	return insertion(table, fields) + fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s",
		fields[0].name, strings.Join(set, ", "))
}
