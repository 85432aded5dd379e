// Package web has the dashboard. The dashboard is one embedded page of plain ES
// modules. The page calls the API of the server that it was loaded from.
//
// There is only one build step: web/build.mjs copies xterm.js, the code of the
// terminal, into dist/ before the program is built. Without xterm.js the page still
// works. It then shows a message in place of the terminal.
package web

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"strings"
	"time"
)

// files has the folders dist and static. In a fresh checkout, dist has only a
// placeholder file.
//
//go:embed all:dist static
var files embed.FS

// kinds has the content types of the page's files. The table is needed because systems
// have different content types for .js, and browsers refuse a module with a wrong
// content type.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler returns a handler that serves the page at /, and the page's files next to it.
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
