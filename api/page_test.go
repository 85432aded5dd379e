package api

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

// pageStandIn sends the same messages as the dashboard in a browser.
type pageStandIn struct {
	t      *testing.T
	send   func(r *http.Request) *http.Response
	origin string
	key    *ecdsa.PrivateKey
	cookie *http.Cookie
	nonce  string
	number int
}

// signIn opens a link for signing in, as a browser does. It sends its requests with the function `send`.
func signIn(t *testing.T, s *Server, send func(*http.Request) *http.Response) *pageStandIn {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &pageStandIn{t: t, send: send, origin: s.origin(), key: key}
	resp := p.enter(s.browsers.NewLink().Code)
	if resp.StatusCode != http.StatusNoContent || len(resp.Cookies()) != 1 {
		t.Fatalf("sign in: %d, %d cookies", resp.StatusCode, len(resp.Cookies()))
	}
	p.cookie = resp.Cookies()[0]
	p.renew()
	return p
}

// within returns a function that passes a request to a handler, without a network.
func within(h http.Handler) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
}

// overTCP returns a function that sends a request unchanged over TCP, and follows no redirect.
func overTCP(t *testing.T) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		r.RequestURI = ""
		r.URL.Scheme, r.URL.Host = "http", r.Host
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
}

func (p *pageStandIn) enter(code string) *http.Response {
	raw, err := p.key.PublicKey.Bytes()
	if err != nil {
		p.t.Fatal(err)
	}
	body, _ := json.Marshal(entry{Code: code, Key: raw})
	return p.send(p.bare("POST", "/api/signin", string(body)))
}

// renew asks the server for a new nonce.
func (p *pageStandIn) renew() {
	p.t.Helper()
	resp := p.send(p.bare("GET", "/api/signin", ""))
	var drawn nonce
	if err := json.NewDecoder(resp.Body).Decode(&drawn); err != nil || drawn.Nonce == "" {
		p.t.Fatalf("no nonce: %d %v", resp.StatusCode, err)
	}
	p.nonce, p.number = drawn.Nonce, 0
}

// bare returns a request with the cookie but without a signature.
func (p *pageStandIn) bare(method, uri, body string) *http.Request {
	r := httptest.NewRequest(method, uri, strings.NewReader(body))
	r.Host = strings.TrimPrefix(p.origin, "http://")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != "GET" {
		r.Header.Set("Origin", p.origin)
		r.Header.Set("Content-Type", "application/json")
	}
	if p.cookie != nil {
		r.AddCookie(&http.Cookie{Name: p.cookie.Name, Value: p.cookie.Value})
	}
	return r
}

// signature returns the signature that key.js would compute for a request.
func (p *pageStandIn) signature(method, uri, body string) string {
	p.t.Helper()
	hash := sha256.Sum256([]byte(body))
	number := p.number
	p.number++
	message := fmt.Sprintf("coleo request 1\n%s\n%s\n%s\n%s\n%d\n%s",
		p.origin, method, uri, p.nonce, number, hex.EncodeToString(hash[:]))
	sum := sha256.Sum256([]byte(message))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprintf("%s.%d.%s", p.nonce, number,
		base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)))
}

// signed returns a request with the cookie and the signature, as the page sends it.
func (p *pageStandIn) signed(method, uri, body string) *http.Request {
	r := p.bare(method, uri, body)
	r.Header.Set(signaturePlace, p.signature(method, uri, body))
	return r
}

// status sends a request and returns the status of the answer.
func (p *pageStandIn) status(r *http.Request) int {
	p.t.Helper()
	resp := p.send(r)
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestThePageNeedsCookieAndSignature(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	p := signIn(t, s, within(s.Handler(false)))
	other := signIn(t, s, p.send)
	change := func(r *http.Request, f func(*http.Request)) *http.Request { f(r); return r }
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			if value == "" {
				r.Header.Del(name)
				return
			}
			r.Header.Set(name, value)
		}
	}
	const kill = "/api/arms/a1/kill"
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
	}{
		{"both", p.signed("GET", "/api/arms?includeAll=true", ""), 200},
		{"both, for a change", p.signed("POST", kill, ""), 200},
		{"the cookie alone", p.bare("GET", "/api/arms", ""), 401},
		{"the cookie alone, for a change", p.bare("POST", kill, ""), 401},
		{"the signature alone", change(p.signed("GET", "/api/arms", ""), header("Cookie", "")), 401},
		{"another browser's cookie", change(p.signed("GET", "/api/arms", ""),
			header("Cookie", other.cookie.Name+"="+other.cookie.Value)), 401},
		{"another browser's signature", change(p.signed("GET", "/api/arms", ""),
			header(signaturePlace, other.signature("GET", "/api/arms", ""))), 401},
		{"a signature for another method",
			change(p.bare("POST", kill, ""), header(signaturePlace, p.signature("GET", kill, ""))), 401},
		{"a signature for another path", change(p.bare("GET", "/api/arms", ""),
			header(signaturePlace, p.signature("GET", "/api/agents", ""))), 401},
		{"a signature for another query", change(p.bare("GET", "/api/arms?includeAll=true", ""),
			header(signaturePlace, p.signature("GET", "/api/arms?includeAll=false", ""))), 401},
		{"a signature for another body", change(p.bare("POST", "/api/arms/a1/lease", `{"holder":"x"}`),
			header(signaturePlace, p.signature("POST", "/api/arms/a1/lease", `{"holder":"y"}`))), 401},
		{"no signature but dots", change(p.bare("GET", "/api/arms", ""), header(signaturePlace, "..")), 401},
		{"a change without an Origin", change(p.signed("POST", kill, ""), header("Origin", "")), 403},
		{"a change with the cookie alone and without an Origin", change(p.bare("POST", kill, ""), header("Origin", "")),
			403},
		{"a change of another page", change(p.signed("POST", kill, ""), header("Origin", "http://127.0.0.1:8081")),
			403},
		{"asked for by a page at another port",
			change(p.signed("GET", "/api/arms", ""), header("Sec-Fetch-Site", "same-site")), 401},
		{"asked for by a foreign page", change(p.signed("GET", "/api/arms", ""),
			header("Sec-Fetch-Site", "cross-site")), 401},
		{"another loopback name", change(p.signed("GET", "/api/arms", ""),
			func(r *http.Request) { r.Host = "localhost:8080" }), 403},
		{"a wrong token beside", change(p.signed("GET", "/api/arms", ""), header("X-API-Key", "x")), 401},
		{"a link for somebody else", p.signed("POST", "/api/browsers/links", ""), 403},
		{"another API token", p.signed("POST", "/api/token", ""), 403},
	} {
		if got := p.status(c.r); got != c.status {
			t.Errorf("%s: status = %d, want %d", c.name, got, c.status)
		}
	}
}

func TestASignedRequestCountsOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	p := signIn(t, s, within(s.Handler(false)))
	first, second := p.signed("GET", "/api/arms", ""), p.signed("GET", "/api/arms", "")
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
	}{{"the later one, first", second, 200}, {"the earlier one", first, 200}, {"the earlier one again", first, 401},
		{"the later one again", second, 401}} {
		if got := p.status(c.r); got != c.status {
			t.Errorf("%s: status = %d, want %d", c.name, got, c.status)
		}
	}
}

func TestABodyThatWasSignedReachesItsRoute(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	s := newServer(t,
		&scriptedBrain{prompt: func(ctx context.Context, p coleo.Prompt, _ string) (coleo.Receipt, error) {
			close(began)
			select {
			case <-release:
				return coleo.Receipt{Text: p.Text}, nil
			case <-ctx.Done():
				return coleo.Receipt{}, ctx.Err()
			}
		}})
	s.times.body = time.Second // enough for a body of 1 MiB on a loaded machine
	base := serveHTTP(t, s)
	p := signIn(t, s, overTCP(t))
	answered := make(chan string, 1)
	go func() {
		body, _ := io.ReadAll(p.send(p.signed("POST", "/api/arms/a1/prompt", `{"prompt":"hi"}`)).Body)
		answered <- string(body)
	}()
	<-began
	// The body of this second request never arrives, so the server answers it when the time limit for a body has
	// passed. The answer shows that the first request has lasted longer than this limit. The first request would
	// have failed if the deadline for its body were still set on the connection.
	late := "POST /api/arms/a1/prompt HTTP/1.1\r\nHost: " + s.addr + "\r\nX-API-Key: " + testToken +
		"\r\nContent-Length: 9\r\n\r\n"
	if status := statusOfBytes(t, strings.TrimPrefix(base, "http://"), late); status != http.StatusGatewayTimeout {
		t.Errorf("a body that does not come: %d, want 504", status)
	}
	close(release)
	if body := <-answered; !strings.Contains(body, `"hi"`) {
		t.Errorf("a route that takes longer than a body may: %s", body)
	}
	large := strings.Repeat("x", maxBody+1)
	if status := p.status(p.signed("POST", "/api/arms/a1/prompt", large)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d, want 413", status)
	}
}

// statusOfBytes sends bytes to a server and returns the status of the answer.
func statusOfBytes(t *testing.T, addr, raw string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, raw); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
