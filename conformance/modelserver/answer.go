package modelserver

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// maxBody is the size of the largest allowed request, in bytes. The longest conversations with
// pictures in present agent CLIs are smaller than 32 MiB.
const maxBody = 64 << 20

// answer answers one HTTP request.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.serving.Done()
	if !fromHere(r) {
		http.Error(w, "only loopback names are served", http.StatusForbidden)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/coleo/") {
		s.control(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "read request: "+err.Error(), http.StatusBadRequest)
		return
	}
	o := &httpWriter{w: w, now: time.Now}
	q := Request{
		At: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), Auth: authOf(r.Header), UserAgent: r.UserAgent(),
	}
	for _, d := range dialects() {
		if r.Method == http.MethodPost && d.serves(r.URL.Path) {
			s.answerTurn(r.Context(), q, d, body, o)
			return
		}
	}
	s.answerFixed(q, r.URL.Path, body, o)
}

// fromHere reports whether a request has a loopback name as its Host, or came over a unix socket. Requests of
// pages in a browser have another Host. The owner of a page can make the page's host name lead to a loopback
// address, but the Host is still that name.
func fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	_, unix := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return unix || isLoopback(strings.Trim(host, "[]"))
}

func authOf(h http.Header) string {
	if h.Get("X-Api-Key") != "" {
		return "x-api-key"
	}
	scheme, _, _ := strings.Cut(h.Get("Authorization"), " ")
	return strings.ToLower(scheme)
}

// answerFixed answers a request that does not ask for a reply of the model. It does not use the
// script.
func (s *Server) answerFixed(q Request, path string, body []byte, o *httpWriter) {
	n := s.rec.add(q)
	for _, d := range dialects() {
		if v := d.fixedReply(q.Method, path, body); v != nil {
			o.json(http.StatusOK, v)
		}
	}
	switch {
	case o.status != 0:
	case q.Method == http.MethodHead:
		o.header(http.StatusOK, "text/plain")
	default:
		o.json(http.StatusNotFound, chat{}.failure(Failure{Status: 404, Message: "nothing is served at " + path}))
	}
	s.finish(n, o, o.err)
}

// answerTurn answers a request for a reply of the model.
func (s *Server) answerTurn(client context.Context, q Request, d dialect, body []byte, o *httpWriter) {
	t, err := d.decode(body)
	if err != nil {
		q.Dialect = d.name()
		n := s.rec.add(q)
		o.json(http.StatusBadRequest, d.failure(Failure{Status: 400, Message: err.Error()}))
		s.finish(n, o, err)
		return
	}
	t = d.addressed(t, httpPath(q.Path))
	rule, steps := s.chooser.choose(t, s.failures)
	q.Turn, q.Rule, q.Reply = t.forRecord(), rule, steps
	n := s.rec.add(q)
	o.onFirstByte = func() {
		s.rec.update(n, func(q *Request) { q.First, q.Status = o.first, o.status })
	}

	ctx, stop := context.WithCancel(client)
	defer stop()
	defer context.AfterFunc(s.ctx, stop)()
	var enc encoder = &collector{dialect: d, out: o, turn: t}
	if t.Stream {
		enc = d.stream(o, t, usageOf(t, steps, 0))
	}
	p := &player{ctx: ctx, turn: t, enc: enc, out: o, release: s.releaseSignal, onStall: func(on bool) {
		s.rec.update(n, func(q *Request) { q.Stalled, q.Status = on, o.status })
	}, onCall: func(m Made) {
		s.rec.update(n, func(q *Request) { q.Calls = append(q.Calls, m) })
	}, onUsage: func(u Usage) {
		s.rec.update(n, func(q *Request) { q.Usage = d.reported(u) })
	}}
	s.finish(n, o, p.play(steps))
}

// httpPath returns the path in a request's URI, without the query.
func httpPath(uri string) string {
	path, _, _ := strings.Cut(uri, "?")
	return path
}

// failures returns how many times the server has answered a prompt with a failure or a
// cut.
func (s *Server) failures(prompt string) int {
	return s.rec.count(func(q Request) bool {
		if q.Prompt != prompt || q.Side != "" || len(q.Reply) == 0 {
			return false
		}
		last := q.Reply[len(q.Reply)-1]
		return last.Fail != nil || last.Cut || last.Half
	})
}

// finish records how request number n ended. If err is nil, the whole reply was sent. If the script or the
// server has caused err, finish records err. Otherwise it also records that the client has disconnected.
func (s *Server) finish(n int, o *httpWriter, err error) {
	s.rec.update(n, func(q *Request) {
		q.Done, q.Stalled, q.Status, q.First, q.Last = true, false, o.status, o.first, o.last
		switch {
		case err == nil:
		case err == errCut || o.status >= http.StatusBadRequest || s.ctx.Err() != nil:
			q.Error = err.Error()
		default:
			q.Aborted, q.Error = true, err.Error()
		}
	})
}
