package coleo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
)

// These constants name the part of the page that is generated from the kinds of event and their
// payloads.
const (
	kindsPage  = "docs/api.md"
	kindsBegin = "<!-- made by `go test -run EachKind . -update` -->\n"
	kindsEnd   = "<!-- end -->\n"
)

// kindSource is the part of this package's source that describes kinds of event and types.
type kindSource struct {
	kinds   []kindLine
	types   map[string]*ast.StructType
	docs    map[string]string   // the comment of each type
	values  map[string][]string // the values of each string type
	strings map[string]bool     // the names of the string types
	consts  map[string]string   // the value of each string constant
}

// kindLine is one constant of the type EventKind.
type kindLine struct{ kind, comment string }

func readKinds(t *testing.T) *kindSource {
	t.Helper()
	s := &kindSource{types: map[string]*ast.StructType{}, docs: map[string]string{}, values: map[string][]string{},
		strings: map[string]bool{}, consts: map[string]string{}}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && !strings.HasSuffix(name, "_test.go") {
				s.add(g)
			}
		}
	}
	return s
}

func (s *kindSource) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = g.Doc
			}
			s.docs[spec.Name.Name] = oneLine(doc.Text())
			switch is := spec.Type.(type) {
			case *ast.StructType:
				s.types[spec.Name.Name] = is
			case *ast.Ident:
				s.strings[spec.Name.Name] = is.Name == "string"
			}
		case *ast.ValueSpec:
			of, ok := spec.Type.(*ast.Ident)
			if !ok || len(spec.Values) != 1 {
				continue
			}
			text, ok := spec.Values[0].(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				continue
			}
			value, _ := strconv.Unquote(text.Value)
			s.values[of.Name] = append(s.values[of.Name], value)
			s.consts[spec.Names[0].Name] = value
			if of.Name == "EventKind" {
				s.kinds = append(s.kinds, kindLine{value, oneLine(spec.Doc.Text() + " " + spec.Comment.Text())})
			}
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// payload returns the type that the comment of a kind names, or "".
func (s *kindSource) payload(comment string) string {
	for word := range strings.FieldsSeq(comment) {
		if word = strings.Trim(word, ":.,"); s.types[word] != nil {
			return word
		}
	}
	return ""
}

// page returns the tables of the kinds and of their payloads.
func (s *kindSource) page() string {
	var b strings.Builder
	b.WriteString("| kind | payload | meaning |\n|---|---|---|\n")
	var wanted []string
	for _, k := range s.kinds {
		name := s.payload(k.comment)
		link := "none"
		if name != "" {
			link = s.link(name, &wanted)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.kind, link, sentence(s.inJSON(s.meaning(k, name), s.types[name])))
	}
	b.WriteString("\nFilters also accept the names that other systems use. An event always has the name of its kind.\n\n" +
		"| name | kind |\n|---|---|\n")
	for _, alias := range coleo.KindAliases() {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", alias.Name, alias.Kind)
	}
	for i := 0; i < len(wanted); i++ { // the loop appends types, because a table can link to further types
		fmt.Fprintf(&b, "\n#### %s\n\n| field | type | meaning |\n|---|---|---|\n", wanted[i])
		s.fields(&b, s.types[wanted[i]], &wanted, map[string]bool{})
	}
	return b.String()
}

// meaning returns the description of a kind. It is the comment of the payload's type, or the
// comment of the kind if there is no such comment.
func (s *kindSource) meaning(k kindLine, payload string) string {
	doc := s.docs[payload]
	_, rest, told := strings.Cut(doc, "payload of a "+k.kind+" event")
	if !told {
		_, rest, told = strings.Cut(doc, "payload of an "+k.kind+" event")
	}
	if told && len(rest) > 2 {
		return strings.TrimSpace(strings.TrimLeft(rest, ":."))
	}
	if rest = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(k.comment, payload), ":")); rest != "no payload" {
		return rest
	}
	return ""
}

// link returns a link to the table of a type, and adds the type to the wanted tables.
func (s *kindSource) link(name string, wanted *[]string) string {
	if !slices.Contains(*wanted, name) {
		*wanted = append(*wanted, name)
	}
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}

// fields writes a line for each field, also for the fields of embedded types. It omits a field if its name is
// in `written`, because the outer type has a field with the same name.
func (s *kindSource) fields(b *strings.Builder, t *ast.StructType, wanted *[]string, written map[string]bool) {
	for _, f := range t.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			s.fields(b, s.types[id.Name], wanted, written)
			continue
		}
		name, options := "", ""
		if f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value)
			name, options, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		}
		if name == "" || name == "-" || written[name] {
			continue
		}
		written[name] = true
		typ := s.typeName(f.Type, wanted)
		if strings.Contains(options, "omit") {
			typ += ", optional"
		}
		doc := oneLine(f.Doc.Text() + " " + f.Comment.Text())
		if len(f.Names) > 0 {
			doc = withoutName(doc, f.Names[0].Name)
		}
		doc = sentence(s.inJSON(doc, t))
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, typ, strings.ReplaceAll(doc, "|", "\\|"))
	}
}

// goName matches a word of a comment that can be the Go name of a constant or of a field.
var goName = regexp.MustCompile(`\b[A-Z][A-Za-z]+(\.[A-Z][A-Za-z]+)?\b`)

// inJSON replaces the Go names in the comment of a field of t. A constant becomes its value, and a
// field becomes its JSON name. "Nil" becomes "absent".
func (s *kindSource) inJSON(doc string, t *ast.StructType) string {
	parts := strings.Split(doc, "`")
	for i := 0; i < len(parts); i += 2 { // the parts with odd numbers are code
		parts[i] = goName.ReplaceAllStringFunc(parts[i], func(word string) string {
			if value, ok := s.consts[word]; ok {
				return "`" + value + "`"
			}
			of, field, dotted := strings.Cut(word, ".")
			if name := s.fieldName(s.types[of], field); dotted && name != "" {
				return "`" + name + "` of " + of
			}
			if name := s.fieldName(t, word); name != "" {
				return "`" + name + "`"
			}
			return word
		})
	}
	return nilWord.ReplaceAllString(strings.Join(parts, "`"), "absent")
}

var nilWord = regexp.MustCompile(`\bnil\b`)

// fieldName returns the JSON name of a field of t, or "".
func (s *kindSource) fieldName(t *ast.StructType, field string) string {
	if t == nil {
		return ""
	}
	for _, f := range t.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			if name := s.fieldName(s.types[id.Name], field); name != "" {
				return name
			}
		}
		if len(f.Names) > 0 && f.Names[0].Name == field && f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			return strings.Trim(name, "-")
		}
	}
	return ""
}

// sentence returns a text with a capital letter at its beginning and a period at its end.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// withoutName removes the field's Go name and the following verb from the comment of a field. The
// page shows the JSON name beside the comment instead.
func withoutName(doc, name string) string {
	rest, named := strings.CutPrefix(doc, name+" ")
	if !named {
		return doc
	}
	if strings.HasPrefix(rest, "means that ") {
		return "`true` " + rest
	}
	for _, verb := range []string{"is ", "are ", "has ", "holds ", "lists ", "contains ", "says "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// typeName returns the JSON type of a field, such as "number".
func (s *kindSource) typeName(e ast.Expr, wanted *[]string) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return s.typeName(e.X, wanted)
	case *ast.ArrayType:
		if id, ok := e.Elt.(*ast.Ident); ok && id.Name == "byte" {
			return "text (base64)"
		}
		return "list of " + s.typeName(e.Elt, wanted)
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		return map[string]string{"Time": "time", "RawMessage": "any JSON", "Duration": "number of ns"}[e.Sel.Name]
	case *ast.Ident:
		switch {
		case e.Name == "bool":
			return "true or false"
		case s.types[e.Name] != nil:
			return s.link(e.Name, wanted)
		case len(s.values[e.Name]) > 0 && len(s.values[e.Name]) < 12:
			return "one of `" + strings.Join(s.values[e.Name], "`, `") + "`"
		case e.Name == "string" || s.strings[e.Name]:
			return "text"
		}
	}
	return "number"
}

// TestEachKindIsInTheListOfKinds is needed because a filter by kind refuses a kind that is missing
// in the list.
func TestEachKindIsInTheListOfKinds(t *testing.T) {
	t.Parallel()
	var want []coleo.EventKind
	for _, k := range readKinds(t).kinds {
		want = append(want, coleo.EventKind(k.kind))
	}
	if got := coleo.EventKinds(); !slices.Equal(got, want) {
		t.Errorf("EventKinds returns\n%q\nthe constants are\n%q", got, want)
	}
}

// TestM24EachAliasStandsForOneKind also checks that no alias has the name of a kind.
func TestM24EachAliasStandsForOneKind(t *testing.T) {
	t.Parallel()
	last := ""
	for _, alias := range coleo.KindAliases() {
		kind, known := coleo.KindNamed(alias.Name)
		if !known || kind != alias.Kind || !slices.Contains(coleo.EventKinds(), kind) || alias.Name <= last ||
			slices.Contains(coleo.EventKinds(), coleo.EventKind(alias.Name)) {
			t.Errorf("the alias %s of %s is read as %s", alias.Name, alias.Kind, kind)
		}
		last = alias.Name
	}
	for _, kind := range coleo.EventKinds() {
		if got, known := coleo.KindNamed(string(kind)); !known || got != kind {
			t.Errorf("the kind %s is read as %s", kind, got)
		}
	}
	if _, known := coleo.KindNamed("nothing"); known {
		t.Error("nothing is no kind")
	}
}

// TestM24EachKindIsInThePage checks that docs/api.md contains each kind with its payload, generated
// from the types of this package.
func TestM24EachKindIsInThePage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(kindsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), kindsBegin)
	_, after, ended := strings.Cut(rest, kindsEnd)
	if !found || !ended {
		t.Fatalf("%s lacks %q or %q", kindsPage, kindsBegin, kindsEnd)
	}
	page := before + kindsBegin + readKinds(t).page() + kindsEnd + after
	switch {
	case page == string(raw):
	case *update:
		if err := os.WriteFile(kindsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the code says: make it anew with -update", kindsPage)
	}
}
