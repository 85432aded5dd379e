package modelserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// start runs a server until the test ends.
func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// within returns a context with a time limit for something that must happen soon.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// post sends a body and returns the status and the whole response.
func post(url, body string) (int, string, error) {
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(data), err
}

// ask is like post, but fails the test on an error.
func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	status, answer, err := post(url, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// asking calls ask in the background. The returned channel receives the response.
func asking(t *testing.T, url, body string) <-chan string {
	got := make(chan string, 1)
	go func() {
		_, answer, err := post(url, body)
		if err != nil {
			t.Error(err)
		}
		got <- answer
	}()
	return got
}

// message returns an Anthropic request with one tool and one prompt.
func message(prompt string) string {
	return `{"model":"m","max_tokens":100,` +
		`"tools":[{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"}}}}],` +
		`"messages":[{"role":"user","content":` + mustJSON(prompt) + `}]}`
}

func TestOnlyLoopbackAddressesAreListenedOn(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		if s, err := Start(Config{Addr: addr}); err == nil {
			_ = s.Close()
			t.Errorf("Start at %q succeeded", addr)
		}
	}
	for _, addr := range []string{"", "127.0.0.1:0", "localhost:0"} {
		start(t, Config{Addr: addr})
	}
}

func TestForeignHostNamesAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	q, err := http.NewRequest(http.MethodGet, s.URL()+"/coleo/record", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = "attacker.example"
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status = %d, want 403", answer.StatusCode)
	}
}

func TestAStalledReplyGoesOnWhenReleased(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	got := asking(t, s.URL()+"/v1/messages", message("stall, then say END-1"))
	if _, err := s.Wait(within(t), func(q Request) bool { return q.Stalled }); err != nil {
		t.Fatal(err)
	}
	if n := s.Release(); n != 1 {
		t.Errorf("Release = %d, want 1", n)
	}
	if body := <-got; !strings.Contains(body, "END-1") {
		t.Errorf("answer = %s, want END-1 in it", body)
	}
	if q := s.Record()[0]; q.Stalled || !q.Done || q.Aborted {
		t.Errorf("record = %+v, want done, neither stalled nor aborted", q)
	}
}

func TestAClientThatGoesIsRecordedAsAborted(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	body := strings.Replace(message("stall"), `{`, `{"stream":true,`, 1)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := s.Wait(within(t), func(q Request) bool { return q.Stalled && q.Status == 200 }); err != nil {
		t.Fatal(err)
	}
	leave()
	r, err := s.Wait(within(t), func(q Request) bool { return q.Done })
	if err != nil {
		t.Fatal(err)
	}
	if !r.Aborted || r.First.IsZero() || r.Last.Before(r.First) {
		t.Errorf("record = %+v, want aborted, with the times of its bytes", r)
	}
}

func TestACutConnectionEndsInMidStream(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	for _, stream := range []string{"true", "false"} {
		body := strings.Replace(message("cut"), `{`, `{"stream":`+stream+`,`, 1)
		answer, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			_ = answer.Body.Close()
		}
		if err == nil {
			t.Errorf("stream %s: the answer ended well, want a cut", stream)
		}
	}
	if _, err := s.Wait(within(t), func(q Request) bool {
		return q.N == 2 && q.Done && !q.Aborted && q.Error != ""
	}); err != nil {
		t.Error(err)
	}
}

func TestAHalfEventEndsInMidLine(t *testing.T) {
	t.Parallel()
	script := Script{Rules: []Rule{{Name: "half", Reply: []Step{{Text: "It begins."}, {Half: true}}}}}
	s := start(t, Config{Script: script})
	for _, stream := range []string{"true", "false"} {
		body := strings.Replace(message("go on"), `{`, `{"stream":`+stream+`,`, 1)
		answer, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		last := string(got[strings.LastIndex(string(got), "\n")+1:])
		if err == nil || !strings.HasSuffix(last, `{"type":"content_blo`) || json.Valid(got) {
			t.Errorf("stream %s: the answer ends with %q and %v, want half an event and a cut", stream, last, err)
		}
	}
}

func TestCutsEndAfterTheGivenNumber(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	const prompt = "cut 1 time, then say END-1"
	if _, _, err := post(s.URL()+"/v1/messages", message(prompt)); err == nil {
		t.Error("the first answer ended well, want a cut")
	}
	if _, body := ask(t, s.URL()+"/v1/messages", message(prompt)); !strings.Contains(body, "END-1") {
		t.Errorf("the second answer = %s, want END-1", body)
	}
}

func TestFailuresCarryStatusAndRetryAfterAndEnd(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	for i, want := range []int{429, 429, 200} {
		answer, err := http.Post(s.URL()+"/v1/messages", "application/json",
			strings.NewReader(message("fail 429 after 3s 2 times")))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		after := answer.Header.Get("Retry-After")
		if answer.StatusCode != want || (want == 429) != (after == "3") {
			t.Errorf("answer %d = %d, Retry-After %q, want %d", i+1, answer.StatusCode, after, want)
		}
	}
}

func TestEveryRequestIsRecordedAndLogged(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log.jsonl")
	s, err := Start(Config{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	prompt := "  two  blanks\n\ttab é 漢 \x01 <b> "
	ask(t, s.URL()+"/v1/messages?beta=true", message(prompt))
	ask(t, s.URL()+"/v1/messages", `{"broken`)
	ask(t, s.URL()+"/v1/messages/count_tokens", `{}`)
	ask(t, s.URL()+"/nothing", ``)
	if _, err := s.Wait(within(t), func(q Request) bool { return q.N == 4 && q.Done }); err != nil {
		t.Fatal(err)
	}
	got := s.Record()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{200, 400, 200, 404} {
		if got[i].Status != want {
			t.Errorf("request %d: status = %d, want %d", i+1, got[i].Status, want)
		}
	}
	if got[0].Prompt != prompt || got[0].Path != "/v1/messages?beta=true" {
		t.Errorf("prompt = %q at %s, want %q", got[0].Prompt, got[0].Path, prompt)
	}
	if logged := lastLogged(t, log); logged[1].Prompt != prompt || !logged[4].Done {
		t.Errorf("log = %+v, want the same", logged)
	}
}

// lastLogged returns the last line for each request in a log.
func lastLogged(t *testing.T, path string) map[int]Request {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last := map[int]Request{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q Request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		last[q.N] = q
	}
	return last
}

func TestWaitEndsWithItsContextOrTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(Request) bool { return false }
	if _, err := s.Wait(ctx, never); err == nil || ctx.Err() == nil {
		t.Errorf("Wait = %v, want the context's error", err)
	}
	_ = s.Close()
	if _, err := s.Wait(within(t), never); err != errClosed {
		t.Errorf("Wait = %v, want %v", err, errClosed)
	}
}

func TestAuthIsNamedButNotKept(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"X-Api-Key": "x-api-key", "Authorization": "bearer", "X-Other": ""} {
		h := http.Header{}
		h.Set(header, "Bearer sk-not-kept")
		if got := authOf(h); got != want {
			t.Errorf("%s: auth = %q, want %q", header, got, want)
		}
	}
}
