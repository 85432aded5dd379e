package modelserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// httpWriter writes a reply to the client. After an error, it writes nothing more.
type httpWriter struct {
	w           http.ResponseWriter
	now         func() time.Time
	status      int // HTTP status that was sent; 0 until then
	first, last time.Time
	onFirstByte func() // called once, after the first byte has been written; may be nil
	err         error
}

func (o *httpWriter) header(status int, contentType string) {
	o.w.Header().Set("Content-Type", contentType)
	o.w.Header().Set("Request-Id", newID("req_"))
	o.w.WriteHeader(status)
	o.status = status
}

func (o *httpWriter) write(b []byte) {
	if o.err != nil {
		return
	}
	if _, o.err = o.w.Write(b); o.err != nil {
		return
	}
	o.last = o.now()
	if !o.first.IsZero() {
		return
	}
	o.first = o.last
	if o.onFirstByte != nil {
		o.onFirstByte()
	}
}

func (o *httpWriter) flush() {
	if o.err == nil && o.status != 0 {
		o.err = http.NewResponseController(o.w).Flush()
	}
}

// json sends a value as a JSON document. If the reply has already begun, json sends nothing. The value comes
// from this package, so JSON can always represent it.
func (o *httpWriter) json(status int, v any) {
	if o.status != 0 {
		return
	}
	o.header(status, "application/json")
	o.write([]byte(mustJSON(v)))
	o.flush()
}

// fail sends the failure f with its status and its Retry-After header. The body is the JSON document
// f.Body or, if that is not set, v.
func (o *httpWriter) fail(f Failure, v any) {
	if f.Body != nil {
		v = f.Body
	}
	if f.RetryAfter > 0 {
		o.w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
	}
	o.json(f.Status, v)
}

// event sends a server-sent event. If `name` is "", the event has no name.
func (o *httpWriter) event(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		o.err = err
		return
	}
	o.line(name, string(data))
}

func (o *httpWriter) line(name, data string) {
	if o.status == 0 {
		o.w.Header().Set("Cache-Control", "no-cache")
		o.header(http.StatusOK, "text/event-stream")
	}
	head := ""
	if name != "" {
		head = "event: " + name + "\n"
	}
	o.write([]byte(head + "data: " + data + "\n\n"))
}

// sendHalf sends the first half of an event and closes the connection. If the client does not want a
// stream, sendHalf sends the first half of a JSON document instead.
func (o *httpWriter) sendHalf(stream bool) {
	switch {
	case o.status != 0:
	case stream:
		o.header(http.StatusOK, "text/event-stream")
	default:
		o.header(http.StatusOK, "application/json")
	}
	if stream {
		o.write([]byte("data: "))
	}
	o.write([]byte(`{"type":"content_blo`))
	o.cut()
}

// cut closes the connection, so that the client receives only a part of the reply.
func (o *httpWriter) cut() {
	o.flush()
	conn, _, err := http.NewResponseController(o.w).Hijack()
	if err != nil {
		o.err = err
		return
	}
	o.err = conn.Close()
}

type fields map[string]any
