package reading

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/policy/commandline"
)

// This file finds aliases and functions in the start files of shells.

const (
	// largestStart is how many bytes of a start file are searched. Start files usually have a few
	// kilobytes.
	largestStart = 1 << 20
	// mostStarts is the largest number of start files that are searched. There can be many, because
	// a start file can read other files.
	mostStarts = 50
)

// startFiles lists the files in HOME that shells read when they start.
var startFiles = []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases",
	".zshenv", ".zprofile", ".zshrc", ".zlogin"}

// sourced matches a shell command that reads another file of commands. Group 1 is the path of that
// file.
var sourced = regexp.MustCompile(`(?:^|[\s;&|({])(?:\.|source)\s+["']?([^\s;"'&|)]+)`)

// Shadowed returns the names of known programs for which a shell's start files define aliases or
// functions. It only searches the text of these files. So it misses definitions that come from a
// line such as `eval "$(PROGRAM)"`.
func Shadowed(home string) []string {
	var text strings.Builder
	var next []string
	for _, name := range startFiles {
		next = append(next, filepath.Join(home, name))
	}
	seen := map[string]bool{}
	for len(next) > 0 && len(seen) < mostStarts {
		path := next[0]
		next = next[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		data, err := os.ReadFile(path)
		if err != nil {
			continue // this is no error, because most of these files are missing
		}
		data = data[:min(len(data), largestStart)]
		text.Write(data)
		text.WriteByte('\n')
		for _, m := range sourced.FindAllStringSubmatch(string(data), -1) {
			next = append(next, expanded(m[1], home))
		}
	}
	return shadowedBy(text.String())
}

// expanded returns `path` as an absolute path. It replaces ~ and the variable HOME with the given home folder.
// A relative path is relative to this folder.
func expanded(path, home string) string {
	for _, name := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(path, name); ok {
			return filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(home, path)
	}
	return path
}

// comment matches a line that is a comment.
var comment = regexp.MustCompile(`(?m)^\s*#.*$`)

// changesAny matches text that can change the meaning of any word: zsh's global aliases, and bash's
// options for file name patterns.
var changesAny = regexp.MustCompile(`\balias\s+-\w*g|` +
	`\b(dotglob|globstar|nullglob|nocaseglob|extglob|GLOBIGNORE|CDPATH|cdpath)\b`)

// shadowedBy returns the names of programs for which the text defines aliases or functions.
func shadowedBy(text string) []string {
	text = comment.ReplaceAllString(text, "")
	anything := changesAny.MatchString(text)
	var out []string
	for name := range programs {
		quoted := regexp.QuoteMeta(name)
		function := regexp.MustCompile(`(?m)(^|[\s;&|({])` + quoted + `\s*\(\s*\)|\bfunction\s+` + quoted + `([\s({]|$)`)
		alias := regexp.MustCompile(`(?m)\balias\b.*?["'\s]` + quoted + `=('[^'\n]*'|"[^"\n]*"|\S*)`)
		shadowed := anything || function.MatchString(text)
		for _, m := range alias.FindAllStringSubmatch(text, -1) {
			shadowed = shadowed || !addsOptions(name, strings.Trim(m[1], `"'`))
		}
		if shadowed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// addsOptions reports whether an alias only adds harmless options to the program of the
// same name.
func addsOptions(name, value string) bool {
	fields := strings.Fields(value)
	p := programs[name]
	if len(fields) == 0 || fields[0] != name || p.own != nil {
		return false
	}
	var words []commandline.Word
	for _, f := range fields[1:] {
		words = append(words, commandline.Word{Text: f})
	}
	a, err := p.divideWords(words)
	return err == nil && len(a.operands) == 0
}
