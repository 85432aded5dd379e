package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"coleo.dev"
)

// Line returns the number of the line in `data` that contains the key at `path`, counted from 1. A path is
// written like "rule[2].when[0].where", where [0] is the first element of a list. If the key is missing, Line
// returns the line of its nearest parent in `data`, or 1 if no parent is there either.
func Line(data []byte, path string) int {
	f := finder{path: path, lists: map[string]int{}}
	f.parser.Reset(data)
	for f.parser.NextExpression() {
		f.expression(f.parser.Expression())
	}
	return 1 + bytes.Count(data[:f.at], []byte("\n"))
}

// Errorf returns an EInvalid error about the key at `path` in a TOML file. The message begins with the
// file's name and the number of the key's line in `data`: see Line.
func Errorf(name string, data []byte, path, format string, args ...any) error {
	return coleo.Errorf(coleo.EInvalid, "%s:%d: %s", name, Line(data, path), fmt.Sprintf(format, args...))
}

// finder searches a file for the key with a given path. It keeps the position of the key, or of the
// nearest parent of the key that it has found so far.
type finder struct {
	parser unstable.Parser
	path   string
	table  string         // the path of the table that contains the keys that follow
	lists  map[string]int // the number of tables so far in each list of tables; the key is the list's path
	best   int            // the length of the path of the nearest key so far
	at     int            // the offset of the nearest key so far
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
		f.table = f.keyPath(f.table, string(last.Data))
	}
	if n.Kind == unstable.ArrayTable {
		list := strings.TrimPrefix(inside+"."+string(last.Data), ".")
		f.table = fmt.Sprintf("%s[%d]", list, f.lists[list])
		f.lists[list]++
	}
	f.noteKey(f.table, last)
}

// keyPath returns the path of a key in a table. If the key is a list of tables, keyPath returns the
// path of the last table in the list.
func (f *finder) keyPath(table, key string) string {
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
		table = f.keyPath(table, string(k.Node().Data))
		f.noteKey(table, k.Node())
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
			f.noteKey(element, c)
			f.value(element, c)
			i++
		}
	}
}

// noteKey records that the file has a key with the given path, at the node n. It keeps the key's position if
// this key is nearer to the searched key than every earlier key.
func (f *finder) noteKey(path string, n *unstable.Node) {
	rest, is := strings.CutPrefix(f.path, path)
	if !is || n == nil || n.Raw.Length == 0 || len(path) <= f.best || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return
	}
	f.best, f.at = len(path), int(n.Raw.Offset)
}
