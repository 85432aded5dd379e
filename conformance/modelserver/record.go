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

// Request is one HTTP request and what became of it.
type Request struct {
	N         int       `json:"n"` // 1 for the first
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`           // with its query
	Auth      string    `json:"auth,omitempty"` // "bearer", "x-api-key", another scheme, or ""; never the credential
	UserAgent string    `json:"user_agent,omitempty"`

	Turn // empty except for requests for a reply

	// Rule is what chose the reply: "rule 2 (name)", "side", "words", or "" where nothing
	// had to be chosen.
	Rule    string    `json:"rule,omitempty"`
	Reply   []Step    `json:"reply,omitempty"`         // as chosen, with names filled in
	Status  int       `json:"status,omitempty"`        // HTTP status sent; 0 while none was
	Stalled bool      `json:"stalled,omitempty"`       // waits for a release
	Aborted bool      `json:"aborted,omitempty"`       // the client disconnected before the reply was sent
	Error   string    `json:"error,omitempty"`         // why the reply differs from the script
	Input   int       `json:"input_tokens,omitempty"`  // from the reply's usage; 0 when it was not sent completely
	Output  int       `json:"output_tokens,omitempty"` // likewise
	Done    bool      `json:"done"`
	First   time.Time `json:"first,omitzero"` // first byte of the reply
	Last    time.Time `json:"last,omitzero"`  // last byte of the reply
}

// record is the list of requests. It is safe for concurrent use.
type record struct {
	mu      sync.Mutex
	list    []Request
	minKept int           // least number of requests kept; 0: all
	dropped int           // number of requests dropped from the beginning
	changed chan struct{} // closed and replaced at every change
	log     io.Writer     // may be nil
	logErr  error
}

func newRecord(log io.Writer) *record {
	return &record{changed: make(chan struct{}), log: log}
}

// add appends a request and returns its number.
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

// update changes request n, if it is still kept.
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

// announce wakes waiting callers and writes a line. A request has a line when it arrives,
// when its reply begins or ends a stall, and when it is done.
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

// wait returns the first request that matches.
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
