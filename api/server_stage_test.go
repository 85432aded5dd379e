package api

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"coleo.dev"
)

// newServer returns a server for the brain b. The server has an address but does not listen.
func newServer(t *testing.T, b Brain) *Server {
	t.Helper()
	s, err := New(Config{Brain: b, Token: testToken, Addr: "127.0.0.1:8080", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serveHTTP serves s over TCP and returns the URL.
func serveHTTP(t *testing.T, s *Server) string {
	t.Helper()
	return serveHTTPOn(t, s, nil)
}

// answer contains the parts of an answer that tests check. The body is separate.
type answer struct {
	StatusCode int
	Header     http.Header
	Cookies    []*http.Cookie // the server sets at most one cookie
}

// ask sends a request to h and returns the answer with its body.
func ask(t *testing.T, h http.Handler, method, path, body string, headers ...string) (answer, string) {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, in)
	r.Host = "127.0.0.1:8080"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	cookie, _ := http.ParseSetCookie(w.Header().Get("Set-Cookie"))
	out := answer{StatusCode: w.Code, Header: w.Header()}
	if cookie != nil {
		out.Cookies = append(out.Cookies, cookie)
	}
	return out, w.Body.String()
}

// errorCode returns the code in the body of an error.
func errorCode(t *testing.T, body string) coleo.Code {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(body), &f); err != nil || f.Err == nil {
		t.Fatalf("the body is no error: %q (%v)", body, err)
	}
	if f.Err.Message == "" {
		t.Errorf("error %s says nothing", f.Err.Code)
	}
	return f.Err.Code
}
