package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

// codes reads all codes from the source, so that this test also covers new codes.
func codes(t *testing.T) []coleo.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []coleo.Code
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, coleo.Code(value))
		}
		return true
	})
	if len(out) < 10 {
		t.Fatalf("found the codes %v only", out)
	}
	return out
}

func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for _, code := range codes(t) {
		status, ok := statusOf[code]
		if !ok || status < 400 || status > 599 {
			t.Errorf("code %s has status %d", code, status)
		}
		if code != coleo.EInternal && status == 500 {
			t.Errorf("code %s looks like a fault of ours", code)
		}
	}
}

func TestErrorsReachTheClientAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, code := range codes(t) {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			sent := coleo.Errorf(code, "what went wrong")
			sent.Dialog = &coleo.Dialog{Title: "Really?", Fingerprint: "f1"}
			sent.Screen = &coleo.Screen{Cols: 2, Rows: 1, Lines: []string{"hi"}}
			b := &scriptedBrain{fail: fmt.Errorf("somewhere: %w", sent)}
			client, err := apiclient.New(apiclient.Config{URL: serveHTTP(t, newServer(t, b)), Token: testToken})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Arms(t.Context(), false)
			var got *coleo.Error
			if !errors.As(err, &got) {
				t.Fatalf("error = %v (%T), want a *coleo.Error", err, err)
			}
			if got.Code != code || got.Message != sent.Message || got.Dialog == nil || got.Dialog.Fingerprint != "f1" ||
				got.Screen == nil || got.Screen.Lines[0] != "hi" {
				t.Errorf("error = %+v, want %+v", got, sent)
			}
		})
	}
}

func TestOtherErrorsGetACode(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]coleo.Code{
		errors.New("disk full"):  coleo.EInternal,
		context.DeadlineExceeded: coleo.ETimeout,
		context.Canceled:         coleo.EUnavailable,
		coleo.Errorf("new", "x"): "new",
	} {
		if got := failureOf(err); got.Err.Code != want || got.status < 400 {
			t.Errorf("%v: %s with status %d, want %s", err, got.Err.Code, got.status, want)
		}
	}
}

func TestRequestsThatAreNotAsDescribed(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(true)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               coleo.Code
	}{
		{"POST", "/api/arms/a1/prompt", `{"prompt":`, 400, coleo.EInvalid},
		{"POST", "/api/arms/a1/prompt", `{"prompt":7}`, 422, coleo.EInvalid},
		{"POST", "/api/arms/a1/prompt", `{"prompt":""}`, 422, coleo.EInvalid},
		{"POST", "/api/arms/a1/prompt", `{}`, 422, coleo.EInvalid},
		{"POST", "/api/arms/a1/prompt", `{"prompt":"x","promt":"y"}`, 422, coleo.EInvalid},
		{"POST", "/api/arms/a1/prompt", ``, 400, coleo.EInvalid},
		{"POST", "/api/arms/a1/respond", `{"choice":"maybe"}`, 422, coleo.EInvalid},
		{"POST", "/api/arms", `{}`, 422, coleo.EInvalid},
		{"POST", "/api/arms", `{"name":"../x"}`, 422, coleo.EInvalid},
		{"POST", "/api/arms", `{"name":"octavia"}`, 409, coleo.EConflict},
		{"POST", "/api/arms/a1/spawn", `{"name":"other"}`, 422, coleo.EInvalid},
		{"POST", "/api/arms/a1/input", `{"lease":"l","text":"a","data":"YQ=="}`, 422, coleo.EInvalid},
		{"GET", "/api/arms/nobody", ``, 404, coleo.ENotFound},
		{"GET", "/api/nothing", ``, 404, coleo.ENotFound},
		{"PUT", "/api/arms", ``, 404, coleo.ENotFound},
		{"GET", "/api/arms/a1/wait", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/wait?state=asleep", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/wait?state=idle&timeout=1h", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/wait?state=idle&timeout=soon", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/events?limit=-1", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/events?limit=5000", ``, 422, coleo.EInvalid},
		{"GET", "/api/arms/a1/output?from=x", ``, 422, coleo.EInvalid},
	} {
		t.Run(c.method+c.path+c.body, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, h, c.method, c.path, c.body, "Content-Type", "application/json")
			if resp.StatusCode != c.status || errorCode(t, body) != c.code {
				t.Errorf("status = %d, body %s; want %d %s", resp.StatusCode, body, c.status, c.code)
			}
			if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("content type = %q", kind)
			}
		})
	}
}

// A body in a format other than JSON is refused, and the error names the format that the route
// accepts.
func TestABodyOfAnotherContentTypeIsToldWhichOneIsWanted(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(true)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/yaml"} {
		resp, body := ask(t, h, "POST", "/api/arms/a1/prompt", `{"prompt":"x"}`, "Content-Type", kind)
		if resp.StatusCode != 415 || errorCode(t, body) != coleo.EInvalid || !strings.Contains(body, kind) ||
			!strings.Contains(body, "Content-Type: application/json") {
			t.Errorf("%s: status %d, %s; want 415 and the type that is wanted", kind, resp.StatusCode, body)
		}
	}
}

func TestTheDescriptionNamesEveryRoute(t *testing.T) {
	t.Parallel()
	_, body := ask(t, newServer(t, &scriptedBrain{}).Handler(true), "GET", "/api/openapi.json", "")
	var spec struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &spec); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, methods := range spec.Paths {
		n += len(methods)
	}
	if want := 102; n != want {
		t.Errorf("%d routes are described, want %d", n, want)
	}
	for _, name := range []string{"Arm", "Failure", "Output", "SpawnRequest"} {
		if spec.Components.Schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
	if spec.Components.Schemas["ErrorModel"] != nil {
		t.Error("the description has an error model that no answer has")
	}
}

func TestEachNameInTheDescriptionBeginsWithALowerCaseLetter(t *testing.T) {
	t.Parallel()
	_, body := ask(t, newServer(t, &scriptedBrain{}).Handler(true), "GET", "/api/openapi.json", "")
	var spec struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(body), &spec); err != nil {
		t.Fatal(err)
	}
	for of, schema := range spec.Components.Schemas {
		for name := range schema.Properties {
			if name[0] < 'a' && name[0] != '$' {
				t.Errorf("%s has a field %s in JSON", of, name)
			}
		}
	}
}
