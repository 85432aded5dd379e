// Package web contains the dashboard: one embedded page of plain ES modules. The page calls the API
// of the server from which it was loaded.
//
// The only build step is web/build.mjs, which runs before the program is built. It copies xterm.js,
// the code that draws the terminal, to dist/. Without xterm.js, the page shows a message in place
// of the terminal, and everything else works.
package web

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"strings"
	"time"
)

// files contains the folders "dist" and "static". Before the build step, "dist" contains only a
// placeholder file.
//
//go:embed all:dist static
var files embed.FS

// kinds maps file extensions to the content types of the page's files. Coleo needs this table
// because systems have different content types for .js, and browsers refuse a module with a wrong
// content type.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler returns a handler that serves the page at /, and the other files of the page
// below /.
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

// file returns the name of the embedded file for the path of a URL.
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
