package rules

import (
	"flag"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/config"
)

// referencePage is a page with a section that is generated from the types of a description. The
// section is between these marks.
const (
	referencePage  = "../../../docs/harness-reference.md"
	referenceBegin = "<!-- begin: made by `go test ./harnesses/terminal/rules -run Reference -update` -->\n"
	referenceEnd   = "<!-- end -->\n"
)

var update = flag.Bool("update", false, "write the reference in "+referencePage+" anew")

func TestTheReferenceIsMadeFromTheTypes(t *testing.T) {
	raw, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(raw), referenceBegin)
	_, after, ended := strings.Cut(rest, referenceEnd)
	if !begun || !ended {
		t.Fatalf("%s has no section between %q and %q", referencePage, referenceBegin, referenceEnd)
	}
	page := before + referenceBegin + makeReference(t) + referenceEnd + after
	if *update && !t.Failed() {
		if err := os.WriteFile(referencePage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(raw) {
		t.Errorf("%s is not what the types say, from line %d on: make it anew with -update", referencePage,
			firstDifference(string(raw), page))
	}
}

// If a key accepts one of several words, its comment must name all of them.
func TestTheReferenceNamesEachWord(t *testing.T) {
	t.Parallel()
	structs := parseStructs(t)
	check := func(name, key string, words ...string) {
		fields := structs[name].fields
		i := slices.IndexFunc(fields, func(f structField) bool { return f.key == key })
		if i < 0 {
			t.Fatalf("%s has no key %q", name, key)
		}
		for _, word := range words {
			if !strings.Contains(fields[i].doc, "`"+word+"`") {
				t.Errorf("%s.%s: the comment does not name %q", name, fields[i].name, word)
			}
		}
	}
	for _, style := range answerStyles {
		check("DialogRule", "select", style.name)
	}
	check("DialogRule", "kind", texts(coleo.DialogKinds())...)
	check("Rule", "state", texts(coleo.States())...)
	check("Report", "state", texts(claimable)...)
	check("Spec", "support", texts([]coleo.Support{coleo.SupportFull, coleo.SupportPartial, coleo.SupportDeclared})...)
	check("Spec", "transport", texts([]coleo.Transport{coleo.TransportPTY, coleo.TransportHTTP})...)
	check("Cond", "colour", colours...)
	check("Composer", "cursor", cursorInside, cursorNotOutside)
}

// texts returns words of a string type as strings.
func texts[T ~string](words []T) []string {
	var out []string
	for _, word := range words {
		out = append(out, string(word))
	}
	return out
}

// The comment of `kind` says which kinds are only for dialogs that the agent CLI opens while it works. Such a kind can
// prove that a prompt arrived, so the author of a description must choose it with care.
func TestTheReferenceNamesTheKindsOfWork(t *testing.T) {
	t.Parallel()
	fields := parseStructs(t)["DialogRule"].fields
	i := slices.IndexFunc(fields, func(f structField) bool { return f.key == "kind" })
	_, sentence, found := strings.Cut(fields[i].doc, "Use ")
	if !found {
		t.Fatal("the comment has no sentence that begins with Use")
	}
	for _, kind := range coleo.DialogKinds() {
		if strings.Contains(sentence, "`"+string(kind)+"`") != kind.OfWork() {
			t.Errorf("the sentence %q is wrong about the kind %s", sentence, kind)
		}
	}
}

// firstDifference returns the number of the first line in which two texts differ.
func firstDifference(a, b string) int {
	rows, others := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(rows), len(others)) {
		if rows[i] != others[i] {
			return i + 1
		}
	}
	return min(len(rows), len(others)) + 1
}

// fullSpec is a description that has one element of each list of tables.
const fullSpec = goodSpec + `[[dialog]]
name = "d"
title = "x"
select = "digit"
when = [{ where = "screen", pattern = "x" }]
[[launch.part]]
[hook]
event = "event"
[[hook.report]]
event = "Stop"
`

// defaultsOfKeys returns the default values of keys, by the paths of the keys. It leaves out empty
// values.
func defaultsOfKeys(t *testing.T) map[string]string {
	t.Helper()
	written := &Spec{}
	if err := config.Decode("x.toml", []byte(fullSpec), written); err != nil {
		t.Fatal(err)
	}
	read, err := ParseSpec("x.toml", []byte(fullSpec))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	addDefaults(out, "", reflect.ValueOf(*written), reflect.ValueOf(*read))
	return out
}

// addDefaults adds the values of the parsed description `read` that differ from `written`, the description
// without default values.
func addDefaults(out map[string]string, path string, written, read reflect.Value) {
	switch {
	case read.Kind() == reflect.Struct:
		for i := range read.NumField() {
			if key := read.Type().Field(i).Tag.Get("toml"); key != "" {
				addDefaults(out, path+"."+key, written.Field(i), read.Field(i))
			}
		}
	case read.Kind() == reflect.Slice && read.Type().Elem().Kind() == reflect.Struct:
		if written.Len() > 0 && read.Len() > 0 {
			addDefaults(out, path, written.Index(0), read.Index(0))
		}
	case reflect.DeepEqual(written.Interface(), read.Interface()):
	case read.Kind() == reflect.String:
		out[path] = fmt.Sprintf("`%q`", read)
	default:
		out[path] = fmt.Sprintf("`%v`", read)
	}
}

// structType is a struct of a description, as its source defines it.
type structType struct {
	name   string
	doc    string
	fields []structField
}

// structField is a field for a key of a description.
type structField struct {
	name, key, doc string
	is             ast.Expr
}

// parseStructs returns the structs of this package by their names, and those of the root package by
// their names with the prefix "coleo.".
func parseStructs(t *testing.T) map[string]structType {
	t.Helper()
	out := map[string]structType{}
	for dir, prefix := range map[string]string{".": "", "../../..": "coleo."} {
		for _, file := range parsePackage(t, dir) {
			for _, d := range file.Decls {
				general, ok := d.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, s := range general.Specs {
					if named, ok := s.(*ast.TypeSpec); ok {
						if is, ok := named.Type.(*ast.StructType); ok {
							out[prefix+named.Name.Name] = structType{named.Name.Name, oneLine(general.Doc.Text()),
								keysOf(is)}
						}
					}
				}
			}
		}
	}
	return out
}

// keysOf returns the fields of a struct that have a key in a description.
func keysOf(is *ast.StructType) []structField {
	var out []structField
	for _, f := range is.Fields.List {
		if f.Tag == nil {
			continue
		}
		tags, _ := strconv.Unquote(f.Tag.Value) // cannot fail, because the compiler accepts the tag
		if key := reflect.StructTag(tags).Get("toml"); key != "" {
			doc := f.Doc.Text() + f.Comment.Text()
			out = append(out, structField{f.Names[0].Name, key, oneLine(doc), f.Type})
		}
	}
	return out
}

// oneLine joins the lines of a comment.
func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ") }

// sharedTables contains the types of tables that several keys can have. The page describes each such table
// once, under this name.
var sharedTables = map[string]string{"Cond": "condition"}

// reference contains the text of the reference so far.
type reference struct {
	t        *testing.T
	structs  map[string]structType
	defaults map[string]string
	text     strings.Builder
}

// makeReference returns the reference of all keys of a description.
func makeReference(t *testing.T) string {
	t.Helper()
	r := &reference{t: t, structs: parseStructs(t), defaults: defaultsOfKeys(t)}
	r.table("Top level", "These keys come before the first table of the file.", "", "Spec")
	for _, name := range slices.Sorted(maps.Keys(sharedTables)) {
		called := sharedTables[name]
		doc := strings.Replace(r.structs[name].doc, name+" is", "A "+called+" is", 1)
		r.table("A "+called, doc, "", name)
	}
	return r.text.String()
}

// table writes one table of keys, and then the tables below it.
func (r *reference) table(title, doc, path, name string) {
	is, ok := r.structs[name]
	if !ok {
		r.t.Fatalf("%s: there is no struct %s", title, name)
	}
	fmt.Fprintf(&r.text, "\n## %s\n\n%s\n\n| key | type | default | meaning |\n|---|---|---|---|\n", title, doc)
	var below []structField
	for _, f := range is.fields {
		if !strings.HasSuffix(f.doc, ".") {
			r.t.Errorf("%s.%s, the key %q, needs a comment of whole sentences", name, f.name, f.key)
		}
		if r.tableOf(f.is) != "" {
			below = append(below, f)
			continue
		}
		fmt.Fprintf(&r.text, "| `%s` | %s | %s | %s |\n", f.key, r.typeOf(f.is), r.defaults[path+"."+f.key],
			strings.ReplaceAll(f.meaning(), "|", `\|`))
	}
	for _, f := range below {
		at, open, end := path+"."+f.key, "[", "]"
		if _, list := f.is.(*ast.ArrayType); list {
			open, end = "[[", "]]"
		}
		r.table("`"+open+at[1:]+end+"`", f.doc, at, r.tableOf(f.is))
	}
}

// meaning returns the comment of a field without the field's Go name, because the page shows the
// key beside it.
func (f structField) meaning() string {
	rest, named := strings.CutPrefix(f.doc, f.name+" ")
	if !named {
		return f.doc
	}
	rest = strings.Replace(rest, "reports whether", "whether", 1)
	for _, verb := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

// tableOf returns the name of the struct of a field that is a table or a list of tables. It returns
// "" for a value, and for a shared table.
func (r *reference) tableOf(is ast.Expr) string {
	if list, ok := is.(*ast.ArrayType); ok {
		is = list.Elt
	}
	name := typeName(is)
	if _, shared := sharedTables[name]; shared {
		return ""
	}
	for _, full := range []string{name, "coleo." + name} { // the root package names its own types without "coleo."
		if r.structs[full].name != "" {
			return full
		}
	}
	return ""
}

// typeName returns the name of a type, with the package if the type is from another one.
func typeName(is ast.Expr) string {
	switch x := is.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return typeName(x.X) + "." + x.Sel.Name
	}
	return ""
}

// valueTypes maps Go types to plain words for the values of a key.
var valueTypes = map[string]string{
	"string": "text", "bool": "true or false", "int": "number", "Milliseconds": "milliseconds",
	"patternText": "pattern",
	"keysText":    "keys", "templateText": "template",
	"DialogKind": "text", "PermissionMode": "text", "coleo.SandboxKind": "text",
}

// typeOf describes the values of a key in plain words.
func (r *reference) typeOf(is ast.Expr) string {
	switch x := is.(type) {
	case *ast.ArrayType:
		return "list of " + r.typeOf(x.Elt) + "s"
	case *ast.MapType:
		return "table of " + r.typeOf(x.Value) + "s"
	}
	if called := sharedTables[typeName(is)]; called != "" {
		return called
	}
	words := valueTypes[typeName(is)]
	if words == "" {
		r.t.Fatalf("the type %s of a key has no words: add them to valueTypes", typeName(is))
	}
	return words
}
