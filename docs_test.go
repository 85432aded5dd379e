package coleo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codePages contains the pages that explain the code to newcomers.
var codePages = []string{"README.md", "docs/design.md", "docs/how-to-add.md", "docs/how-to-add-harness.md",
	"docs/life-of-a-prompt.md", "docs/new-harness.md"}

var (
	namedFile = regexp.MustCompile("`([a-z0-9_./-]+\\.go)`")
	namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")
	// namedMember matches a method or a field of a type, such as `Brain.Label`.
	namedMember = regexp.MustCompile("`([A-Z][A-Za-z]+\\.[A-Za-z]+)`")
	// namedOther matches a name such as `live.hear`, which can be a method of an unexported type or
	// an event.
	namedOther = regexp.MustCompile("`[a-z][A-Za-z]+\\.([A-Za-z]+)`")
)

// partsOf returns the paragraphs, list items and table rows of a page, each in one line.
func partsOf(page string) []string {
	var parts []string
	for line := range strings.SplitSeq(page, "\n") {
		begins := regexp.MustCompile(`^\s*(?:[0-9]+\. |- |\||#|$)`).MatchString(line)
		if line = strings.TrimSpace(line); begins || len(parts) == 0 {
			parts = append(parts, line)
			continue
		}
		parts[len(parts)-1] = strings.TrimSpace(parts[len(parts)-1] + " " + line)
	}
	return parts
}

// A page must not name a file, a test or a method that does not exist, because it would mislead
// newcomers.
func TestThePagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	files, words, members := map[string]bool{}, map[string]bool{}, map[string]bool{}
	err := eachGoFile(func(name string) error {
		for at := name; ; {
			files[at] = true
			_, rest, more := strings.Cut(at, "/")
			if at = rest; !more {
				break
			}
		}
		text, err := os.ReadFile(name)
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(string(text), -1) {
			words[word] = true
		}
		if err == nil {
			err = addMembers(members, name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range codePages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			names *regexp.Regexp
			there map[string]bool
		}{{namedFile, files}, {namedTest, words}, {namedMember, members}, {namedOther, words}} {
			for _, m := range c.names.FindAllStringSubmatch(string(text), -1) {
				if !c.there[m[1]] && !strings.HasSuffix(m[1], ".md") {
					t.Errorf("%s names %s, which is not there", page, m[0])
				}
			}
		}
	}
}

// A comment of a function must use the function's name only as a name. In "the nextArm arm id", a careless
// replacement has put the name nextArm in place of a word.
func TestACommentUsesTheNameOfItsFunctionAsAName(t *testing.T) {
	t.Parallel()
	camelCase := regexp.MustCompile(`^[A-Za-z]+[a-z][A-Z]`)
	err := eachGoFile(func(name string) error {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || f.Doc == nil || !camelCase.MatchString(f.Name.Name) {
				continue
			}
			wrong := regexp.MustCompile(`\b(the|a|an|no|each|was|few|first) ` + f.Name.Name + `\b.*`)
			if text := wrong.FindString(f.Doc.Text()); text != "" {
				t.Errorf("%s: the comment of %s contains %q", name, f.Name.Name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A comment can name a member of a variable, such as t.Parallel. If no member in the package has
// this name, the comment is out of date.
func TestACommentNamesMembersThatExist(t *testing.T) {
	t.Parallel()
	used := regexp.MustCompile(`\b[a-z]\w*\.(\w+)`)
	named := regexp.MustCompile("(?:^|[^\\w./\"'`-])([a-z]\\.([a-z]\\w+))")
	members, comments := map[string]map[string]bool{}, map[string][]string{} // the keys of both maps are folders
	err := eachGoFile(func(name string) error {
		text, err := os.ReadFile(name)
		folder := filepath.Dir(name)
		if members[folder] == nil {
			members[folder] = map[string]bool{}
		}
		for line := range strings.Lines(string(text)) {
			code, comment, _ := strings.Cut(line, "// ")
			for _, found := range used.FindAllStringSubmatch(code, -1) {
				members[folder][found[1]] = true
			}
			comments[folder] = append(comments[folder], comment)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, list := range comments {
		for _, comment := range list {
			for _, found := range named.FindAllStringSubmatch(comment, -1) {
				if member := found[2]; member != "g" && !members[folder][member] { // the g of "e.g."
					t.Errorf("%s: a comment names %s, which is not there:%s", folder, found[1], strings.TrimRight(comment, "\n"))
				}
			}
		}
	}
}

// eachGoFile calls a function with the path of each Go file of the module.
func eachGoFile(do func(name string) error) error {
	return filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case path.Ext(name) != ".go":
			return nil
		}
		return do(name)
	})
}

// addMembers adds the methods and fields of a file's types to the members, as "Type.Member".
func addMembers(members map[string]bool, name string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				receiver := d.Recv.List[0].Type
				if pointer, is := receiver.(*ast.StarExpr); is {
					receiver = pointer.X
				}
				if named, is := receiver.(*ast.Ident); is {
					members[named.Name+"."+d.Name.Name] = true
				}
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if of, is := spec.(*ast.TypeSpec); is {
					addFields(members, of)
				}
			}
		}
	}
	return nil
}

// addFields adds the fields of a struct, or the methods of an interface.
func addFields(members map[string]bool, of *ast.TypeSpec) {
	var list *ast.FieldList
	switch t := of.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			members[of.Name.Name+"."+name.Name] = true
		}
	}
}
