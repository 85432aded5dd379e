package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
)

// If a description names an unknown style, the error must list all styles in the table.
func TestTheErrorOfAnUnknownStyleNamesTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := ParseSpec("x.toml", []byte(menuSpec+"select = \"mouse\"\n"))
	if coleo.ErrorCode(err) != coleo.EInvalid {
		t.Fatalf("an unknown style: %v", err)
	}
	for _, style := range answerStyles {
		if !strings.Contains(err.Error(), style.name) {
			t.Errorf("the error does not name the style %q: %v", style.name, err)
		}
	}
}

// No code in packages rules and typing may compare a text with the name of a style. The style's type must have
// a method instead.
func TestStylesAreNamedInTheirTableAlone(t *testing.T) {
	t.Parallel()
	isStyle := func(text string) bool {
		return slices.ContainsFunc(answerStyles, func(s answerStyle) bool { return s.name == text })
	}
	for _, dir := range []string{".", "../typing"} {
		for path, file := range parsePackage(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, text := range slices.DeleteFunc(comparedTexts(n), func(s string) bool { return !isStyle(s) }) {
					t.Errorf("%s compares with the style %q: give its type a method instead", path, text)
				}
				return true
			})
		}
	}
}

// parsePackage parses the Go files of a folder except tests, and returns them by their paths.
func parsePackage(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	out := map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if out[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// comparedTexts returns the string literals in a comparison or in a case.
func comparedTexts(n ast.Node) []string {
	var compared []ast.Expr
	switch x := n.(type) {
	case *ast.CaseClause:
		compared = x.List
	case *ast.BinaryExpr:
		if x.Op == token.EQL || x.Op == token.NEQ {
			compared = []ast.Expr{x.X, x.Y}
		}
	}
	var out []string
	for _, e := range compared {
		if text, ok := e.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if s, err := strconv.Unquote(text.Value); err == nil {
				out = append(out, s)
			}
		}
	}
	return out
}
