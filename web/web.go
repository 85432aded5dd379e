// Package web holds the dashboard: one page, embedded, of plain ES modules,
// that speaks with the API it came from. It needs no build step but one: the
// terminal's own code, xterm.js, is copied into dist/ before the program is
// built (web/build.mjs). Without it the page works, and says so where the
// terminal would be.
package web

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"strings"
	"time"
)

// dist is empty in a fresh checkout, but for a file that holds its place.
//
//go:embed all:dist static
var files embed.FS

// kinds are the content types of the page's files. The table is here because
// what the system has for .js differs, and browsers refuse a module that comes
// as anything else.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler serves the page at / and its files beside it.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := file(r.URL.Path)
	kind, ok := kinds[path.Ext(name)]
	data, err := files.ReadFile(name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// file returns the embedded file for a path of a URL.
func file(url string) string {
	clean := path.Clean("/" + url)
	switch {
	case clean == "/":
		return "static/index.html"
	case strings.HasPrefix(clean, "/dist/"):
		return clean[1:]
	}
	return "static" + clean
}
