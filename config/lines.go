package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"coleo.dev"
)

// Line returns the number of the line in data that has the key with the given path. The
// first line is 1. A path looks like "rule[2].when[0].where", and the first element of
// a list is 0. If the key is missing, Line returns the line of its nearest existing
// parent. If there is no parent, Line returns 1.
func Line(data []byte, path string) int {
	f := finder{path: path, lists: map[string]int{}}
	f.parser.Reset(data)
	for f.parser.NextExpression() {
		f.expression(f.parser.Expression())
	}
	return 1 + bytes.Count(data[:f.at], []byte("\n"))
}

// Errorf returns an EInvalid error. The message names the line of data that has the key
// with the given path.
func Errorf(name string, data []byte, path, format string, args ...any) error {
	return coleo.Errorf(coleo.EInvalid, "%s:%d: %s", name, Line(data, path), fmt.Sprintf(format, args...))
}

// finder walks through a file to find the key with a path. It remembers the position of
// the nearest key. This is the key with the path itself, or with the longest existing
// prefix of the path.
type finder struct {
	parser unstable.Parser
	path   string
	table  string         // the table of the current keys
	lists  map[string]int // the number of tables read so far in each list of tables, by path
	best   int            // the length of the best prefix
	at     int            // the offset of the best prefix
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

// below returns the path of a key in a table. If the key is a list of tables, it
// returns the path of the list's last table.
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

// found compares the path of an existing key with the path that the finder looks for.
func (f *finder) found(path string, n *unstable.Node) {
	rest, is := strings.CutPrefix(f.path, path)
	if !is || n == nil || n.Raw.Length == 0 || len(path) <= f.best || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return
	}
	f.best, f.at = len(path), int(n.Raw.Offset)
}
