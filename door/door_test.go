package door

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/localsocket"
)

// patience bounds every wait of these tests.
const patience = time.Minute

// keeper is a Handler, which carries out the calls that arrive at a door. It answers the tool
// "echo" at once, and the tool "ask" with a value from the channel `answer`. The tool "fail" fails with a long error.
type keeper struct {
	mu     sync.Mutex
	calls  []Request
	got    []string
	asked  chan string // the key of each call that waits
	answer chan string
	cut    chan error // one error for each call whose caller has disconnected
}

func newKeeper() *keeper {
	return &keeper{asked: make(chan string, 100), answer: make(chan string), cut: make(chan error, 100)}
}

func (k *keeper) Call(ctx context.Context, q Request, waiting func(string)) (string, error) {
	k.mu.Lock()
	k.calls = append(k.calls, q)
	k.mu.Unlock()
	switch q.Tool {
	case "echo":
		return string(q.Arguments), nil
	case "fail":
		return "", coleo.Errorf(coleo.ENotFound, "%s", strings.Repeat("<", MaxLine))
	case "ask":
		waiting("q-1")
		k.asked <- q.Key
		select {
		case text := <-k.answer:
			return text, nil
		case <-ctx.Done():
			k.cut <- ctx.Err()
			return "", ctx.Err()
		}
	}
	return "", coleo.Errorf(coleo.EUnsupported, "no tool %q", q.Tool)
}

func (k *keeper) AnswerDelivered(_ context.Context, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.got = append(k.got, key)
}

func (k *keeper) heard() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.got)
}

// folder returns the path for a door in a new folder. The path is longer than the address of a Unix
// socket may be, and the door must open all the same.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, File)
}

func open(t *testing.T, path string, k *keeper) *Door {
	t.Helper()
	d, err := Open(path, nil, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s until %s", patience, what)
		}
	}
}

func TestACallReachesTheDoorAndItsResultTheCaller(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	open(t, path, k)
	c := Client{path}
	text, got, err := c.Call(within(t), Request{Key: "k1", Tool: "echo", Arguments: json.RawMessage(`{"a":1}`)}, nil)
	if err != nil || text != `{"a":1}` {
		t.Fatalf("Call = %q, %v", text, err)
	}
	got()
	until(t, "the door knows that the result was passed on", func() bool { return k.heard() == 1 })
	_, _, err = c.Call(within(t), Request{Key: "k2", Tool: "none"}, nil)
	if coleo.ErrorCode(err) != coleo.EUnsupported || !strings.Contains(err.Error(), `no tool "none"`) {
		t.Errorf("Call of an unknown tool = %v", err)
	}
}

// A door closes while it carries out a client's request. The client must send the request again
// with the same key, until a door at the same path answers it.
func TestACallOutlivesTheDoor(t *testing.T) {
	t.Parallel()
	path, first, second := folder(t), newKeeper(), newKeeper()
	d := open(t, path, first)
	type outcome struct {
		text string
		err  error
	}
	done, ids := make(chan outcome, 1), make(chan string, 10)
	go func() {
		text, _, err := Client{path}.Call(within(t), Request{Key: "k1", Tool: "ask"}, func(id string) { ids <- id })
		done <- outcome{text, err}
	}()
	if key, id := <-first.asked, <-ids; key != "k1" || id != "q-1" {
		t.Fatalf("the first door was asked with key %q and told %q", key, id)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	<-first.cut
	open(t, path, second)
	if key := <-second.asked; key != "k1" {
		t.Fatalf("the second door was asked with key %q", key)
	}
	second.answer <- "red"
	if o := <-done; o.err != nil || o.text != "red" {
		t.Errorf("Call = %+v", o)
	}
}

func TestACallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	open(t, path, k)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := Client{path}.Call(ctx, Request{Key: "k1", Tool: "ask"}, func(string) {})
		done <- err
	}()
	<-k.asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v", err)
	}
	<-k.cut
}

// dial connects to a door without a Client, as a hostile program of the same user could do.
func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := localsocket.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestAHostileCallerIsRefused(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"no JSON":       "hello\n",
		"no key":        `{"tool":"echo"}` + "\n",
		"a long key":    `{"key":"` + strings.Repeat("k", maxKey+1) + `","tool":"echo"}` + "\n",
		"a huge line":   `{"key":"k","tool":"echo","arguments":"` + strings.Repeat("x", MaxLine) + `"}` + "\n",
		"no end at all": strings.Repeat("x", 2*MaxLine),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, k := folder(t), newKeeper()
			open(t, path, k)
			conn := dial(t, path)
			_, _ = io.WriteString(conn, sent)
			answer, _ := io.ReadAll(conn) // ends, because the door hangs up
			if !strings.Contains(string(answer), string(coleo.EInvalid)) {
				t.Errorf("the answer is %.200q", answer)
			}
			if len(k.calls) != 0 {
				t.Errorf("it was carried out: %.200v", k.calls)
			}
		})
	}
}

func TestRequestsSentAheadEndTheConnection(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	open(t, path, k)
	conn := dial(t, path)
	for n := range 5 {
		_, _ = fmt.Fprintf(conn, `{"key":"k%d","tool":"ask"}`+"\n", n)
	}
	<-k.cut
	if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection ended with %v", err)
	}
}

// Ten thousand callers connect. The door never has more connections than its bound, and still
// answers a request afterwards.
func TestTenThousandConnections(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	d := open(t, path, k)
	var held []net.Conn
	for range 10_000 {
		conn, err := localsocket.Dial(path)
		if err != nil {
			continue // the socket can refuse a connection when many arrive at once
		}
		if held = append(held, conn); len(held) > 2*maxConnections {
			_ = held[0].Close()
			held = held[1:]
		}
		d.mu.Lock()
		n := len(d.conns)
		d.mu.Unlock()
		if n > maxConnections {
			t.Fatalf("the door has %d connections, more than %d", n, maxConnections)
		}
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	text, _, err := Client{path}.Call(within(t), Request{Key: "k", Tool: "echo", Arguments: json.RawMessage(`1`)}, nil)
	if err != nil || text != "1" {
		t.Errorf("after that, Call = %q, %v", text, err)
	}
}

func TestProcessesThatAreNotAdmittedGetNothing(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	d, err := Open(path, func(localsocket.Peer) error { return coleo.Errorf(coleo.EForbidden, "no") }, k)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	conn := dial(t, path)
	_, _ = io.WriteString(conn, `{"key":"k","tool":"echo"}`+"\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil || line != "" {
		t.Errorf("it got %q", line)
	}
	if len(k.calls) != 0 {
		t.Error("its call was carried out")
	}
}

// A request that no door accepts must fail at once. If Call sent it again and again, the model's call would never
// return.
func TestARequestThatIsTooLargeFails(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	open(t, path, k)
	arguments, err := json.Marshal(strings.Repeat("x", 8*MaxLine))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Client{path}.Call(within(t), Request{Key: "k1", Tool: "echo", Arguments: arguments}, nil)
	if coleo.ErrorCode(err) != coleo.EInvalid {
		t.Errorf("Call = %v", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.calls) != 0 {
		t.Error("it was carried out")
	}
}

// A result can be larger than a line, because JSON escapes each "<" with six characters. The model must get
// what fits, and must be told that the rest is missing.
func TestAnAnswerThatIsTooLargeIsShortened(t *testing.T) {
	t.Parallel()
	path, k := folder(t), newKeeper()
	open(t, path, k)
	done := make(chan string, 1)
	whole := strings.Repeat("<é", MaxLine)
	go func() {
		text, _, err := Client{path}.Call(within(t), Request{Key: "k1", Tool: "ask"}, func(string) {})
		if err != nil {
			text = err.Error()
		}
		done <- text
	}()
	<-k.asked
	k.answer <- whole
	text := <-done
	kept, shortened := strings.CutSuffix(text, cutNote)
	if !shortened || !strings.HasPrefix(whole, kept) || len(kept) < MaxLine/8 {
		t.Errorf("Call = %d bytes, %.40q … %q", len(text), text, text[max(0, len(text)-80):])
	}
	_, _, err := Client{path}.Call(within(t), Request{Key: "k2", Tool: "fail"}, nil)
	if coleo.ErrorCode(err) != coleo.ENotFound || !strings.HasSuffix(err.Error(), cutNote) {
		t.Errorf("Call of a tool that fails = %.80v", err)
	}
}
