package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Request is one HTTP request together with the server's response.
type Request struct {
	N         int       `json:"n"` // number of the request, from 1
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`           // with the query
	Auth      string    `json:"auth,omitempty"` // "bearer", "x-api-key", another scheme or ""; never the credential itself
	UserAgent string    `json:"user_agent,omitempty"`

	Turn // empty if the request does not ask for a reply of the model

	// Rule says what has chosen the reply: "rule 2 (name)", "side" or "words". It is "" if the request does not
	// ask for a reply of the model.
	Rule    string    `json:"rule,omitempty"`
	Reply   []Step    `json:"reply,omitempty"`   // the chosen steps, with their placeholders replaced
	Calls   []Made    `json:"calls,omitempty"`   // the tool calls in the reply, as they were sent
	Status  int       `json:"status,omitempty"`  // HTTP status that was sent; 0 until then
	Stalled bool      `json:"stalled,omitempty"` // the reply is waiting for a release
	Aborted bool      `json:"aborted,omitempty"` // the client disconnected before the reply was complete
	Error   string    `json:"error,omitempty"`   // how the reply differs from the script, if it does
	Usage             // the usage that the reply has reported; 0 until the reply is complete
	Done    bool      `json:"done"`
	First   time.Time `json:"first,omitzero"` // time of the first byte of the reply
	Last    time.Time `json:"last,omitzero"`  // time of the last byte of the reply
}

// Made is a tool call that the model has made.
type Made struct {
	// in its next request, a client of the chat or Gemini dialect may use another id for this call
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"` // the text that was sent, which need not be JSON
}

// record stores the requests that the server has received. It is safe for concurrent use.
type record struct {
	mu      sync.Mutex
	list    []Request
	minKept int           // smallest number of requests that are kept; 0 keeps all
	dropped int           // number of oldest requests that were dropped from the list
	changed chan struct{} // closed and replaced after each change
	log     io.Writer     // may be nil
	logErr  error
}

func newRecord(log io.Writer) *record {
	return &record{changed: make(chan struct{}), log: log}
}

// add adds a request to the record and returns its number. If the record now has more than twice
// minKept requests, add drops the oldest ones.
func (r *record) add(q Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	q.N = r.dropped + len(r.list) + 1
	r.list = append(r.list, q)
	if surplus := len(r.list) - r.minKept; r.minKept > 0 && surplus > r.minKept {
		r.list, r.dropped = slices.Clone(r.list[surplus:]), r.dropped+surplus
	}
	r.announce(q)
	return q.N
}

// update changes the request with the number n. If the record has dropped this request,
// update does nothing.
func (r *record) update(n int, change func(*Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n <= r.dropped {
		return
	}
	q := &r.list[n-1-r.dropped]
	change(q)
	r.announce(*q)
}

// announce wakes everybody who waits for a request, and writes the request to the log. The methods that change
// a request call announce after each change.
func (r *record) announce(q Request) {
	close(r.changed)
	r.changed = make(chan struct{})
	if r.log == nil || r.logErr != nil {
		return
	}
	line, err := json.Marshal(q)
	if err == nil {
		_, err = r.log.Write(append(line, '\n'))
	}
	r.logErr = err
}

func (r *record) from(n int) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list[min(max(n-1-r.dropped, 0), len(r.list)):])
}

func (r *record) count(matches func(Request) bool) int {
	n := 0
	for _, q := range r.from(1) {
		if matches(q) {
			n++
		}
	}
	return n
}

var errClosed = errors.New("model server closed")

// wait returns the first request for which `matches` returns true. If there is no such request yet, it waits
// for one. It returns an error if the server is closed or ctx ends.
func (r *record) wait(ctx context.Context, closed <-chan struct{}, matches func(Request) bool) (Request, error) {
	for {
		r.mu.Lock()
		i, changed, n := slices.IndexFunc(r.list, matches), r.changed, len(r.list)
		var q Request
		if i >= 0 {
			q = r.list[i]
		}
		r.mu.Unlock()
		if i >= 0 {
			return q, nil
		}
		select {
		case <-changed:
		case <-closed:
			return Request{}, errClosed
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for a request, %d came, none is it: %w", n, context.Cause(ctx))
		}
	}
}
