package mend

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coleo.dev/harnesses/terminal/rules"
)

// Description is a harness.toml, and everything that is needed to read it.
type Description struct {
	File  string                   // the file's name in errors and in the diff
	Text  []byte                   // the content of the file
	Bases func(name string) []byte // returns the harness.toml of a base, as for ParseSpecOn; can be nil
}

func (d Description) spec() (*rules.Spec, error) { return rules.ParseSpecOn(d.File, d.Text, d.Bases) }

// document is the text of a harness.toml, and the places in it that can be changed.
type document struct {
	text   string
	items  []item
	fields []field
}

// item is a table of the harness.toml.
type item struct {
	kind, name string // kind is for example "rule", and name is then the name of the rule
	start, end int    // offsets in the file; a comment directly above the table belongs to the table
}

// field is a string in the harness.toml.
type field struct {
	item       int    // index of the item that contains the string
	top, key   string // "when" and "pattern" in a condition; otherwise the same key twice, such as "title"
	cond       int    // index of the condition in the item's list; -1 outside conditions
	start, end int    // offsets, including the quotes
	value      string
}

var (
	tableHeader = regexp.MustCompile(`(?m)^\[\[?([A-Za-z0-9_.]+)\]\]?[ \t]*(#.*)?$`)
	keyName     = regexp.MustCompile(`([A-Za-z0-9_-]+)\s*=\s*$`)
)

// keyBefore is the number of bytes before a string in which the method scan searches for the string's
// key. All keys are shorter.
const keyBefore = 60

func parseDocument(text string) *document {
	d := &document{text: text}
	heads := tableHeader.FindAllStringSubmatchIndex(text, -1)
	for i, m := range heads {
		it := item{kind: text[m[2]:m[3]], start: commentAbove(text, m[0]), end: len(text)}
		if i+1 < len(heads) {
			it.end = commentAbove(text, heads[i+1][0])
		}
		d.items = append(d.items, it)
		d.scan(i, m[1])
	}
	for _, f := range d.fields {
		if f.top == "name" && f.key == "name" {
			d.items[f.item].name = f.value
		}
	}
	return d
}

// commentAbove returns the offset of the comment directly above the given offset, or the given
// offset if there is no comment.
func commentAbove(text string, at int) int {
	for at > 0 {
		line := strings.LastIndexByte(text[:at-1], '\n') + 1
		if !strings.HasPrefix(text[line:at], "#") {
			break
		}
		at = line
	}
	return at
}

// scan collects the strings of the table d.items[i], beginning at the offset `from`.
func (d *document) scan(i, from int) {
	end := d.items[i].end
	top, cond, depth := "", -1, 0
	for at := from; at < end; at++ {
		switch c := d.text[at]; c {
		case '#':
			for at < end && d.text[at] != '\n' {
				at++
			}
		case '{':
			cond++
			depth++
		case '[':
			depth++
		case '}', ']':
			depth--
		case '=':
			if m := keyName.FindStringSubmatch(d.text[max(from, at-keyBefore) : at+1]); depth == 0 && m != nil {
				top, cond = m[1], -1
			}
		case '\'', '"':
			value, length := quotedText(d.text[at:end])
			key := top
			if m := keyName.FindStringSubmatch(d.text[max(from, at-keyBefore):at]); m != nil {
				key = m[1]
			}
			d.fields = append(d.fields, field{i, top, key, cond, at, at + length, value})
			at += length - 1
		}
	}
}

// quotedText returns the value of the TOML string at the beginning of text, and the
// length of the string in the file.
func quotedText(text string) (value string, length int) {
	for _, q := range []string{`'''`, `"""`} {
		if strings.HasPrefix(text, q) {
			if n := strings.Index(text[3:], q); n >= 0 {
				return text[3 : 3+n], n + 6
			}
			return "", len(text)
		}
	}
	for n := 1; n < len(text); n++ {
		switch {
		case text[0] == '"' && text[n] == '\\':
			n++
		case text[n] == text[0]:
			if value = text[1:n]; text[0] == '"' {
				if s, err := strconv.Unquote(text[:n+1]); err == nil {
					value = s
				}
			}
			return value, n + 1
		}
	}
	return "", len(text)
}

// quote returns a text as a TOML string on one line.
func quote(value string) string {
	if !strings.ContainsAny(value, "'\n") {
		return "'" + value + "'"
	}
	return strconv.Quote(value)
}

// withValue returns the text of the file, with the given value in the field f.
func (d *document) withValue(f field, value string) string {
	q := quote(value)
	if f.key == "where" {
		q = strconv.Quote(value)
	}
	return d.text[:f.start] + q + d.text[f.end:]
}

// find returns the index of the rule or dialog with this name, or -1 if there is none.
func (d *document) find(kind, name string) int {
	return slices.IndexFunc(d.items, func(it item) bool { return it.kind == kind && it.name == name })
}

// field returns the field with the given keys in an item. condIndex is the index of the field's
// condition, or -1 if the field is not in a condition.
func (d *document) field(it int, top, key string, condIndex int) (field, bool) {
	for _, f := range d.fields {
		if f.item == it && f.top == top && f.key == key && f.cond == condIndex {
			return f, true
		}
	}
	return field{}, false
}

// withMoved returns the text of the file with item i moved directly before item j, or directly
// after it if toAfter is true.
func (d *document) withMoved(i, j int, toAfter bool) string {
	it, text := d.items[i], strings.TrimRight(d.text[d.items[i].start:d.items[i].end], "\n")+"\n\n"
	to := d.items[j].start
	if toAfter {
		to = d.items[j].end
	}
	if to <= it.start {
		return d.text[:to] + text + d.text[to:it.start] + d.text[it.end:]
	}
	return d.text[:it.start] + d.text[it.end:to] + text + d.text[to:]
}

// withInserted returns the text of the file with a new table before item j. If j is -1, the table
// is after the last rule or dialog.
func (d *document) withInserted(j int, table string) string {
	to := len(d.text)
	if j >= 0 {
		to = d.items[j].start
	} else {
		for _, it := range d.items {
			if it.kind == "rule" || it.kind == "dialog" {
				to = it.end
			}
		}
	}
	return fmt.Sprintf("%s%s\n\n%s", d.text[:to], strings.TrimRight(table, "\n"), d.text[to:])
}
