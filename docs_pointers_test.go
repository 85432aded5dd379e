package coleo_test

import (
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guides contains the pages with the strictest rules, and guide is one of them. Every file that such a page
// names must exist. A step of such a page can begin with the name of a file.
const guide = "docs/how-to-add.md"

var guides = []string{guide, "docs/how-to-add-harness.md"}

var (
	// pointedFile matches the path of a source file. It does not match a path that begins with a
	// dot, because such a file is in a user's project.
	pointedFile = "`((?:[A-Za-z0-9_<][A-Za-z0-9_.<>/-]*\\.(?:go|js|mjs|toml|sql|txt|json|md))|Makefile)`"
	pointedName = "`[^`\n]+`"
	anyFile     = regexp.MustCompile(pointedFile)
	// nameInFile matches "`A` and `B` in `file`" and "`A` (`file`)". Its first group contains the
	// names.
	nameInFile = regexp.MustCompile("((?:" + pointedName + "(?:, and |, or |, | and | or ))*" + pointedName +
		")(?:,? in (?:\\*\\*)?| \\()" + pointedFile)
	fileInBrackets = regexp.MustCompile(`\(` + pointedFile)
	// fileOfStep matches the name of a file at the beginning of a step of a guide.
	fileOfStep = regexp.MustCompile(`^(?:[0-9]+\. |- )?\*\*` + pointedFile)
	// nameInStep matches "to `A`" in a step that begins with a file. It does not match "to `A` in
	// `file`".
	nameInStep = regexp.MustCompile(" (?:to|in) (`(?:[A-Za-z]+\\.)?[A-Za-z]\\w*`)(?:[.,;:]|$)")
	// codeName matches a name in code, such as Brain.Label. Its last group contains the part after
	// the last dot.
	codeName = regexp.MustCompile(`^(?:\w+\.)*([A-Za-z_]\w*)$`)
	// tomlTable matches the header of a TOML table, such as [[limit]].
	tomlTable = regexp.MustCompile(`^\[+[a-z_.]+\]+$`)
	// anyName matches a placeholder in a path, such as NAME and <name>.
	anyName = regexp.MustCompile(`<\w+>|NAME`)
	// unlisted matches a file that is not in the tree, because Coleo or the reader creates it.
	unlisted = regexp.MustCompile(`^(?:arm|threads)\.json$|HASH|^ID\.|VERSION`)
	// namedFolder matches the folder in a path between backquotes.
	namedFolder = regexp.MustCompile("`([a-z0-9_-]+(?:/[a-z0-9_-]+)*)/?(?:/[A-Za-z0-9_.-]+\\.[a-z]+)?`")
)

// pointer is the name of a file in a page, or the name of something in a file.
type pointer struct {
	name string // "" if the page names only the file
	file string
}

// A page that contains "`name` in `path/file.go`" sends the reader to this file. The file must
// exist, and its code must contain the name, not only a comment.
func TestEachPointerOfThePagesLeadsToItsFile(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names, files, steps := 0, 0, 0
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range sectionsOf(string(text)) {
			for _, part := range partsOf(section) {
				pointers := pointersOf(part)
				if slices.Contains(guides, page) {
					inSteps := pointersOfStep(part)
					steps += len(inSteps)
					pointers = append(pointers, inSteps...)
				}
				for _, p := range pointers {
					if p.name == "" {
						files++
					} else {
						names++
					}
					if fault := p.fault(section); fault != "" {
						t.Errorf("%s: %s:\n%s", page, fault, part)
					}
				}
			}
		}
	}
	if names < 300 || files < 300 || steps < 300 { // if there are fewer, the patterns no longer match the pages
		t.Errorf("the pages have %d names with files, %d files, and %d pointers of steps", names, files, steps)
	}
}

// pointersOf returns the pointers of a paragraph.
func pointersOf(part string) (out []pointer) {
	for _, m := range fileInBrackets.FindAllStringSubmatch(part, -1) {
		out = append(out, pointer{file: m[1]})
	}
	for _, m := range nameInFile.FindAllStringSubmatch(part, -1) {
		for _, name := range regexp.MustCompile(pointedName).FindAllString(m[1], -1) {
			out = append(out, pointer{strings.Trim(name, "`"), m[2]})
		}
	}
	return out
}

// pointersOfStep returns the pointers of a paragraph of a guide. Every file that the paragraph names must
// exist. If the paragraph is a step that begins with a file, this file must contain the names in the step.
func pointersOfStep(part string) (out []pointer) {
	for _, m := range anyFile.FindAllStringSubmatch(part, -1) {
		out = append(out, pointer{file: m[1]})
	}
	if own := fileOfStep.FindStringSubmatch(part); own != nil {
		for _, m := range nameInStep.FindAllStringSubmatch(part, -1) {
			out = append(out, pointer{strings.Trim(m[1], "`"), own[1]})
		}
	}
	return out
}

// The guide shows a whole test, which must be the same as the test in cmd/coleo.
func TestTheGuideShowsATestThatRuns(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("cmd/coleo/guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, function, found := strings.Cut(string(code), "\nfunc ")
	if !found || !strings.Contains(string(page), "```go\nfunc "+function+"```\n") {
		t.Errorf("%s does not show the test of cmd/coleo/guide_test.go:\nfunc %s", guide, function)
	}
}

// sectionsOf splits a page before each heading.
func sectionsOf(page string) []string {
	var out []string
	for line := range strings.Lines(page) {
		if len(out) == 0 || strings.HasPrefix(line, "#") {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}

// fault describes what is wrong with a pointer, or returns "". If the text is not a name, but for
// example a command line or a path, only the file must exist.
func (p pointer) fault(section string) string {
	if unlisted.MatchString(p.file) {
		return ""
	}
	found := filesAt(p.file, section)
	if len(found) == 0 {
		return "the section names no folder with " + p.file
	}
	isTable := path.Ext(p.file) == ".toml" && tomlTable.MatchString(p.name)
	if !isTable && (!codeName.MatchString(p.name) || anyFile.MatchString("`"+p.name+"`")) {
		return ""
	}
	if slices.ContainsFunc(found, func(at string) bool { return contains(at, p.name) }) {
		return ""
	}
	return strings.Join(found, " and ") + " has no " + p.name
}

// filesAt returns the files that a path in a section can mean. A path without a folder means a file
// of the root, or of a folder that the section names. The name of a TOML file means every file with
// this name.
func filesAt(file, section string) []string {
	pattern := anyName.ReplaceAllString(file, "*")
	folders := []string{"."}
	switch {
	case strings.Contains(file, "/"):
	case path.Ext(file) == ".toml":
		folders = append(folders, "*", "*/*", "*/*/*")
	default:
		for _, m := range namedFolder.FindAllStringSubmatch(section, -1) {
			folders = append(folders, m[1])
		}
	}
	var out []string
	for _, folder := range folders {
		found, _ := filepath.Glob(path.Join(folder, pattern))
		out = append(out, found...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// contains reports whether a file declares or uses a name. In a Go file, a qualified name such as
// Brain.Label must be declared there, or its last part must follow a dot.
func contains(file, name string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	if tomlTable.MatchString(name) {
		return strings.Contains(string(text), name)
	}
	last, before := codeName.FindStringSubmatch(name)[1], ""
	if path.Ext(file) == ".go" {
		members := map[string]bool{}
		if addMembers(members, file, text) == nil && members[name] {
			return true
		}
		code, of := codeOf(text)
		if text = code; name != last && name != of+"."+last {
			before = `\.`
		}
	}
	return regexp.MustCompile(before + `\b` + last + `\b`).Match(text)
}

// codeOf returns the tokens of a file in Go, without its comments, and the name of its package.
func codeOf(text []byte) (code []byte, of string) {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(text)), text, nil, 0)
	var out strings.Builder
	for was := token.ILLEGAL; ; {
		_, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return []byte(out.String()), of
		case was == token.PACKAGE:
			of = literal
		case kind == token.PERIOD:
			out.WriteString(".")
		case kind == token.IDENT || kind == token.STRING || kind.IsKeyword():
			out.WriteString(literal + " ")
		default:
			out.WriteString("; ")
		}
		was = kind
	}
}
