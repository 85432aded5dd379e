package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"coleo.dev"
)

// Line returns the 1-based line of data in which a key stands, by its path, such
// as "rule[2].when[0].where": elements of lists count from 0. For a key that is
// not there it is the line of what would hold it, and 1 without that.
func Line(data []byte, path string) int {
	f := finder{path: path, lists: map[string]int{}}
	f.parser.Reset(data)
	for f.parser.NextExpression() {
		f.expression(f.parser.Expression())
	}
	return 1 + bytes.Count(data[:f.at], []byte("\n"))
}

// Errorf makes an EInvalid error for the line of data in which the key with
// that path stands.
func Errorf(name string, data []byte, path, format string, args ...any) error {
	return coleo.Errorf(coleo.EInvalid, "%s:%d: %s", name, Line(data, path), fmt.Sprintf(format, args...))
}

// finder walks through a file and keeps the place of the key that is nearest to
// a path: the path itself or the longest beginning of it.
type finder struct {
	parser unstable.Parser
	path   string
	table  string         // that the keys belong to
	lists  map[string]int // tables in lists so far, by path
	best   int            // length of the beginning
	at     int            // its offset
}

func (f *finder) expression(n *unstable.Node) {
	if n.Kind == unstable.KeyValue {
		f.pair(f.table, n)
	}
	if n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
		return
	}
	inside, last := "", (*unstable.Node)(nil)
	f.table = ""
	for k := n.Key(); k.Next(); {
		inside, last = f.table, k.Node()
		f.table = f.below(f.table, string(last.Data))
	}
	if n.Kind == unstable.ArrayTable {
		list := strings.TrimPrefix(inside+"."+string(last.Data), ".")
		f.table = fmt.Sprintf("%s[%d]", list, f.lists[list])
		f.lists[list]++
	}
	f.found(f.table, last)
}

// below is the path of a key in a table; of a list of tables, its last one.
func (f *finder) below(table, key string) string {
	path := key
	if table != "" {
		path = table + "." + key
	}
	if n := f.lists[path]; n > 0 {
		return fmt.Sprintf("%s[%d]", path, n-1)
	}
	return path
}

func (f *finder) pair(table string, n *unstable.Node) {
	for k := n.Key(); k.Next(); {
		table = f.below(table, string(k.Node().Data))
		f.found(table, k.Node())
	}
	f.value(table, n.Value())
}

func (f *finder) value(path string, n *unstable.Node) {
	if !n.Valid() || !slices.Contains([]unstable.Kind{unstable.Array, unstable.InlineTable}, n.Kind) {
		return
	}
	i := 0
	for k := n.Children(); k.Next(); {
		switch c := k.Node(); {
		case c.Kind == unstable.Comment:
		case n.Kind == unstable.InlineTable:
			f.pair(path, c)
		default:
			element := fmt.Sprintf("%s[%d]", path, i)
			f.found(element, c)
			f.value(element, c)
			i++
		}
	}
}

// found compares a path that is there with the one that is looked for.
func (f *finder) found(path string, n *unstable.Node) {
	rest, is := strings.CutPrefix(f.path, path)
	if !is || n == nil || n.Raw.Length == 0 || len(path) <= f.best || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return
	}
	f.best, f.at = len(path), int(n.Raw.Offset)
}
