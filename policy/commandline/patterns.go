package commandline

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file finds the names that a file name pattern matches.

// match returns the names that a file name pattern matches. If nothing matches, it returns the pattern
// itself, as the shell does.
func (w *walker) match(p pieces) ([]Word, error) {
	raw := p.text()
	last := strings.LastIndexByte(raw, '/') + 1
	for i, special := range p.special {
		if special && i < last {
			return nil, unclear("the pattern %s is for folders, too", raw)
		}
		if special && i > last && p.raw[i] == '*' && p.raw[i-1] == '*' && p.special[i-1] {
			return nil, unclear("the pattern %s can go into folders", raw)
		}
	}
	if pattern, special := p.raw[last:], p.special[last:]; matchesWild(pattern, special, ".") ||
		matchesWild(pattern, special, "..") {
		return nil, unclear("in some shells, the pattern %s matches the folder above", raw)
	}
	folder := raw[:last]
	if slices.Contains(strings.Split(folder, "/"), "..") {
		return nil, unclear("the folder of the pattern %s has ..", raw)
	}
	dir := folder
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.dir, dir)
	}
	names, err := w.names(filepath.Clean(dir))
	if err != nil {
		return nil, unclear("the folder of the pattern %s cannot be read: %v", raw, err)
	}
	var out []Word
	isCertain := false // whether a name matches in every shell
	for _, name := range names {
		if !matchesWild(p.raw[last:], p.special[last:], name) {
			continue
		}
		isCertain = isCertain || matchesAlways(p.raw[last:], p.special[last:], name)
		out = append(out, Word{Text: folder + name, Matched: true})
		if *w.expanded += len(folder + name); *w.expanded > mostExpanded {
			return nil, w.checkSize(0)
		}
	}
	if len(out) > mostMatches {
		return nil, unclear("the pattern %s matches %d files, more than %d", raw, len(out), mostMatches)
	}
	if len(out) > 0 && !isCertain {
		return nil, unclear("shells differ in whether the pattern %s matches a file", raw)
	}
	if len(out) == 0 {
		out = []Word{{Text: raw}}
	}
	return out, nil
}

// matchesWild reports whether a name matches a pattern of * and ? in some shell. A leading dot of the name matches
// only a dot in the pattern. A match that no shell makes is harmless: it only means that one more name is judged.
func matchesWild(pattern []byte, special []bool, name string) bool {
	one := `.{1,4}` // a ? of the pattern: some shells match one byte, others a character of up to 4 bytes
	if len(name) > utf8.RuneCountInString(name) {
		one = `.{0,4}` // several ? can match the bytes of one character
	}
	// The flag i is set, because an option of the shell can make patterns ignore case.
	re, err := expression(`(?is)`, one, pattern, special)
	return startsAlike(pattern, name) && (err != nil || re.MatchString(name))
}

// matchesAlways reports whether a name matches a pattern in every shell.
func matchesAlways(pattern []byte, special []bool, name string) bool {
	re, err := expression(`(?s)`, `[\x00-\x7f]`, pattern, special)
	return startsAlike(pattern, name) && err == nil && re.MatchString(name)
}

// startsAlike reports whether a name has no leading dot, or the pattern has one, too.
func startsAlike(pattern []byte, name string) bool {
	return !strings.HasPrefix(name, ".") || len(pattern) > 0 && pattern[0] == '.'
}

// expression returns the regular expression for a pattern. `one` is the expression for a ? of the pattern.
func expression(flags, one string, pattern []byte, special []bool) (*regexp.Regexp, error) {
	var expr strings.Builder
	expr.WriteString(flags + `^`)
	for i, c := range pattern {
		switch {
		case special[i] && c == '*':
			expr.WriteString(`.*`)
		case special[i]:
			expr.WriteString(one)
		default:
			expr.WriteString(regexp.QuoteMeta(string([]byte{c})))
		}
	}
	return regexp.Compile(expr.String() + `$`)
}
