package api

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/api/apiclient"
)

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{prompt: func(_ context.Context, p coleo.Prompt, _ string) (coleo.Receipt, error) {
		return coleo.Receipt{ID: fmt.Sprint(len(p.Text))}, nil
	}}
	h := newServer(t, b).Handler(true)
	body := func(n int) string { return `{"prompt":"` + strings.Repeat("x", n) + `"}` }
	fits := maxBody - len(body(0))
	if resp, got := ask(t, h, "POST", "/api/arms/a1/prompt", body(fits)); resp.StatusCode != 200 ||
		!strings.Contains(got, fmt.Sprint(fits)) {
		t.Errorf("1 MiB: %d %s", resp.StatusCode, got)
	}
	if resp, got := ask(t, h, "POST", "/api/arms/a1/prompt", body(fits+1)); resp.StatusCode != 413 ||
		errorCode(t, got) != coleo.EInvalid {
		t.Errorf("a byte more: %d %s", resp.StatusCode, got)
	}
}

func TestABodyThatDoesNotArriveIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	s.times.body = 20 * time.Millisecond
	base := serveHTTP(t, s)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/arms HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nContent-Length: 10\r\n\r\n{",
		s.addr, testToken)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 504 {
		t.Errorf("status = %s, want 504", resp.Status)
	}
}

// The time limit for reading a body must not limit the work of the route. The test checks a route
// that needs a body and a route that needs none.
func TestWorkMayTakeLongerThanItsBody(t *testing.T) {
	t.Parallel()
	const body = 30 * time.Millisecond
	work := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * body):
			return nil
		}
	}
	s := newServer(t, &scriptedBrain{interrupt: work,
		prompt: func(ctx context.Context, _ coleo.Prompt, _ string) (coleo.Receipt, error) {
			return coleo.Receipt{ID: "r"}, work(ctx)
		}})
	s.times.body = body
	base := serveHTTP(t, s)
	c := newClient(t, apiclient.Config{URL: base, Token: testToken})
	if r, err := c.Prompt(t.Context(), "a1", coleo.Prompt{Text: "x"}, ""); err != nil || r.ID != "r" {
		t.Errorf("Prompt = %+v, %v", r, err)
	}
	interrupt := base + "/api/arms/a1/interrupt"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, interrupt, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("interrupt with a body = %s", resp.Status)
	}
}
