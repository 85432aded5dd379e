package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/stranger"
)

// squatterNonce is the nonce that the squatter, another user's program on serve's port, gives to the page.
const squatterNonce = "bm9uY2Utb2YtdGhlLXNxdWF0dGVyLTAxMjM0NTY3ODkwMTIzNDU2Nzg"

func TestMain(m *testing.M) {
	stranger.Play(map[string]func([]string) int{"squatter": playSquatter})
	os.Exit(m.Run())
}

// playSquatter is the program of another user that listens on serve's port. It prints its user id.
// After that, it prints each request, unchanged, as a line of JSON.
func playSquatter(args []string) int {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var one sync.Mutex
	out := json.NewEncoder(os.Stdout)
	_ = out.Encode(os.Getuid())
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		go record(conn, func(raw []byte) {
			one.Lock()
			defer one.Unlock()
			_ = out.Encode(raw)
		})
	}
}

// record passes each request of a connection to the function `tell`, and answers with a nonce.
func record(conn net.Conn, tell func([]byte)) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		raw, err := httputil.DumpRequest(r, true)
		if err != nil {
			return
		}
		tell(raw)
		body := `{"nonce":"` + squatterNonce + `","life":600000}`
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body)
	}
}

// squat starts a squatter on a port, as another user. The returned function waits for n requests,
// ends the squatter and returns the requests.
func squat(t *testing.T, addr string) func(n int) [][]byte {
	t.Helper()
	cmd, out := stranger.Start(t, "squatter", addr)
	lines, uid := json.NewDecoder(out), 0
	if err := lines.Decode(&uid); err != nil || uid != stranger.UID {
		t.Fatalf("the squatter is user %d (%v), want %d", uid, err, stranger.UID)
	}
	return func(n int) [][]byte {
		t.Helper()
		got := make([][]byte, n)
		for i := range got {
			if err := lines.Decode(&got[i]); err != nil {
				t.Fatalf("request %d of %d: %v", i+1, n, err)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return got
	}
}

// serveAt runs a server at an address. It returns the server, and a function that stops the server.
func serveAt(t *testing.T, addr, file string, b Brain) (*Server, func()) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Brain: b, Token: testToken, Addr: l.Addr().String(), Browsers: file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, false) }()
	return s, func() {
		t.Helper()
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	}
}

// replay sends the bytes of a request to a server, and returns the status and the body of the
// answer.
func replay(t *testing.T, addr string, raw []byte) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer to\n%s\n%v", raw, err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return resp.StatusCode, string(body)
}

// While serve is down, another user takes its port, and receives everything that an open page
// sends. After serve is back, the other user must achieve nothing with these requests.
func TestASquatterOfThePortGetsNothing(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{
		prompt: func(context.Context, coleo.Prompt, string) (coleo.Receipt, error) {
			t.Error("the squatter prompted an arm")
			return coleo.Receipt{}, nil
		},
		output: func(context.Context, int64) (coleo.Output, error) {
			t.Error("the squatter saw a terminal")
			return coleo.Output{End: true}, nil
		},
	}
	file := filepath.Join(t.TempDir(), "browsers.json")
	s, stop := serveAt(t, "127.77.0.1:0", file, b) // no other test uses this address, so none can take the port
	addr := s.addr
	p := signIn(t, s, overTCP(t))
	if got := p.status(p.signed("GET", "/api/arms", "")); got != 200 {
		t.Fatalf("the page itself: %d", got)
	}
	stop()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	end := squat(t, addr)
	const prompt, body = "/api/arms/a1/prompt", `{"prompt":"rm"}`
	send := func() {
		p.status(p.signed("GET", "/api/arms", ""))
		p.status(p.signed("POST", prompt, body))
		socket := p.bare("GET", "/ws/terminal/a1?from=0&signature="+p.signature("GET", "/ws/terminal/a1?from=0", ""),
			"")
		for name, value := range map[string]string{
			"Origin": p.origin, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
			"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		} {
			socket.Header.Set(name, value)
		}
		p.status(socket)
	}
	send() // signs with the nonce of the serve that was stopped
	p.renew()
	if p.nonce != squatterNonce {
		t.Fatalf("nonce = %q, want the squatter's", p.nonce)
	}
	send()
	got := end(7)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	_, stop = serveAt(t, addr, file, b)
	defer stop()
	fresh := theirNonce(t, addr, got)
	for _, raw := range got {
		for name, change := range map[string][]byte{
			"as it came":            raw,
			"over a nonce of serve": bytes.ReplaceAll(raw, []byte(squatterNonce), []byte(fresh)),
			"without its signature": withoutLine(raw, signaturePlace),
			"without its cookie":    withoutLine(raw, "Cookie"),
			"with the cookie alone": []byte("GET /api/arms HTTP/1.1\r\nHost: " +
				addr + "\r\n" + line(raw, "Cookie") + "\r\n\r\n"),
			"to stop the arm, alone": []byte("POST /api/arms/a1/kill HTTP/1.1\r\nHost: " +
				addr + "\r\nOrigin: http://" + addr + "\r\nContent-Length: 0\r\n" + line(raw, "Cookie") + "\r\n\r\n"),
		} {
			status, body := replay(t, addr, change)
			switch {
			case status == 401:
			case status == 200 && bytes.HasPrefix(change, []byte("GET /api/signin ")):
				// expected: a caller with only the cookie receives a nonce
			case status == 101 && name == "without its cookie": // expected: the first message must contain the token
			default:
				t.Errorf("%s: %d %s\n%s", name, status, body, change)
			}
		}
	}
	p.renew()
	if got := p.status(p.signed("GET", "/api/arms", "")); got != 200 {
		t.Errorf("the page itself, afterwards: %d, want 200", got)
	}
}

// theirNonce returns the nonce that serve gives to the squatter for the cookie in its requests.
func theirNonce(t *testing.T, addr string, got [][]byte) string {
	t.Helper()
	_, body := replay(t, addr, []byte("GET /api/signin HTTP/1.1\r\nHost: "+addr+"\r\n"+line(got[0], "Cookie")+
		"\r\n\r\n"))
	var drawn nonce
	if err := json.Unmarshal([]byte(body), &drawn); err != nil || drawn.Nonce == "" {
		t.Fatalf("no nonce for the cookie: %s", body)
	}
	return drawn.Nonce
}

// line returns the line of a request that contains the named header.
func line(raw []byte, name string) string {
	for l := range strings.SplitSeq(string(raw), "\r\n") {
		if strings.HasPrefix(l, name+":") {
			return l
		}
	}
	return "X: none"
}

func withoutLine(raw []byte, name string) []byte {
	return bytes.Replace(raw, []byte(line(raw, name)+"\r\n"), nil, 1)
}
