package modelserver

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// longestWait is how long GET /coleo/record may wait for a request.
const longestWait = time.Minute

// control handles the paths below /coleo/:
//
//	GET  /coleo/record?from=N&wait=10s   returns the requests from number N on; with wait, first waits for such a request
//	POST /coleo/script                   replaces the script
//	POST /coleo/release                  continues all stalled replies
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	o := &httpWriter{w: w, now: time.Now}
	switch r.Method + " " + r.URL.Path {
	case "GET /coleo/record":
		s.controlRecord(o, r)
	case "POST /coleo/script":
		s.controlScript(o, r)
	case "POST /coleo/release":
		o.json(http.StatusOK, fields{"released": s.Release()})
	default:
		o.json(http.StatusNotFound, fields{"error": "no such control"})
	}
}

func (s *Server) controlRecord(o *httpWriter, r *http.Request) {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil {
		from = 1
	}
	if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil {
		ctx, stop := context.WithTimeout(r.Context(), min(wait, longestWait))
		defer stop()
		// An error is ignored: if no such request comes in time, the response is an empty list.
		_, _ = s.Wait(ctx, func(q Request) bool { return q.N >= from })
	}
	o.json(http.StatusOK, fields{"requests": s.rec.from(from)})
}

func (s *Server) controlScript(o *httpWriter, r *http.Request) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	var script Script
	if err == nil {
		script, err = parseScript(data)
	}
	if err == nil {
		err = s.SetScript(script)
	}
	if err != nil {
		o.json(http.StatusBadRequest, fields{"error": "script: " + err.Error()})
		return
	}
	o.json(http.StatusOK, fields{"rules": len(script.Rules)})
}
