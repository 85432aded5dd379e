package web

import (
	"io/fs"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, url string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return w
}

func TestServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, url string
		status      int
		kind        string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/app.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/style.css", 200, "text/css; charset=utf-8"},
		{"GET", "/nothing.js", 404, ""},
		{"GET", "/dist/.gitkeep", 404, ""},
		{"GET", "/dist/", 404, ""},
		{"GET", "/../web.go", 404, ""},
		{"POST", "/", 405, ""},
	} {
		w := get(t, c.method, c.url)
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind {
			t.Errorf("%s %s = %d %q, want %d %q", c.method, c.url, w.Code, w.Header().Get("Content-Type"), c.status,
				c.kind)
		}
	}
}

// The page must load nothing from other servers. It must also contain no inline scripts, because
// its policy forbids them.
func TestThePageIsSelfContained(t *testing.T) {
	t.Parallel()
	elsewhere := regexp.MustCompile(`(?i)(src|href|import|url\()\s*[=(]?\s*["']?(https?:)?//`)
	inline := regexp.MustCompile(`(?i)<script[^>]*>\s*[^<\s]|\son[a-z]+\s*=\s*"|javascript:`)
	err := fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if kinds[path.Ext(name)] == "" {
			t.Errorf("%s would not be served", name)
		}
		if found := elsewhere.Find(data); found != nil {
			t.Errorf("%s loads from elsewhere: %s", name, found)
		}
		if found := inline.Find(data); strings.HasSuffix(name, ".html") && found != nil {
			t.Errorf("%s has a script written into it: %s", name, found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The page must name all modules at its beginning, so that the browser loads them at once.
// Otherwise the browser would load modules that import each other one after another.
func TestThePageNamesItsModules(t *testing.T) {
	t.Parallel()
	page := get(t, "GET", "/").Body.String()
	// the page loads these with script elements
	apart := map[string]bool{"app.js": true, "early.js": true, "enter.js": true}
	list, err := fs.Glob(files, "static/*.js")
	if err != nil || len(list) == 0 {
		t.Fatalf("%d modules: %v", len(list), err)
	}
	for _, name := range list {
		name = path.Base(name)
		if named := strings.Contains(page, `<link rel="modulepreload" href="/`+name+`">`); named == apart[name] {
			t.Errorf("%s is named: %v, want %v", name, named, !apart[name])
		}
	}
}
