package pricebook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

const goodDocument = `{"p":{"models":{"m":{"cost":{"input":1,"output":2}}}}}`

var someDay = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// serving returns the address of a server on the loopback.
func serving(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL + "/api.json"
}

// silent returns the address of a server that accepts connections but sends nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return "http://" + l.Addr().String() + "/api.json"
}

func TestFetchedPricesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache", "prices.json")
	if p, err := Load(path); p != nil || err != nil {
		t.Errorf("without a file: %v, %v", p, err)
	}
	address := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(goodDocument)) })
	n, err := Refresh(t.Context(), http.DefaultClient, address, path, someDay)
	if n != 1 || err != nil {
		t.Fatalf("refresh = %d, %v", n, err)
	}
	p, err := Load(path)
	if err != nil || p.Source != coleo.PriceRefreshed || p.Date != "2026-11-01" || p.ByName["p/m"].Output != 2 {
		t.Errorf("kept: %+v, %v", p, err)
	}
}

// A server can fail in several ways. Each refresh from such a server must end in time, return an error of one
// line, and leave the last good prices.
func TestAFaultOfTheServerLeavesTheLastPrices(t *testing.T) {
	t.Parallel()
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(goodDocument[:20]))
	}
	stalls := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(goodDocument[:20]))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	huge := func(w http.ResponseWriter, _ *http.Request) {
		blank := []byte(strings.Repeat(" ", 1<<20))
		for range MaxDocument>>20 + 1 {
			if _, err := w.Write(blank); err != nil {
				return
			}
		}
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
	}
	for name, c := range map[string]struct {
		address, want string
		quick         bool // the server never ends its answer, so the test uses a short time limit
	}{
		"it hangs after accept":    {silent(t), "the whole document did not come in time", true},
		"it stalls in the middle":  {serving(t, stalls), "the whole document did not come in time", true},
		"it sends half a document": {serving(t, half), "only a part of the document", false},
		"it answers 500": {serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }),
			"500 Internal", false},
		"it sends too much":       {serving(t, huge), "more than 67108864 bytes", false},
		"it sends no JSON":        {serving(t, text("<html>")), "document of prices: invalid character", false},
		"it sends a cut document": {serving(t, text(goodDocument[:40])), "document of prices: unexpected end", false},
		"it has negative prices": {serving(t, text(strings.Replace(goodDocument, "1", "-1", 1))),
			"cannot be a price", false},
		"it has no models":              {serving(t, text("{}")), "no model with a price", false},
		"nobody listens":                {"http://127.0.0.1:1/x", "connection refused", false},
		"the address is a file":         {"file:///etc/passwd", "is not the address", false},
		"the address is no address":     {"models", "is not the address", false},
		"the address has control bytes": {"http://a\x1b/", "is not the address", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "prices.json")
			good := serving(t, text(goodDocument))
			if _, err := Refresh(t.Context(), http.DefaultClient, good, path, someDay); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if c.quick {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
			}
			_, err := Refresh(ctx, http.DefaultClient, c.address, path, someDay.AddDate(0, 0, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "as before") ||
				strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v, want %s", err, c.want)
			}
			if p, err := Load(path); err != nil || p.Date != "2026-11-01" || len(p.ByName) != 1 {
				t.Errorf("the kept prices are %+v, %v", p, err)
			}
			if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
				t.Errorf("beside the prices there are %v", files)
			}
		})
	}
}

func TestADamagedFileIsTold(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"prices":{"p/m":{"input":-1}}}`} {
		path := filepath.Join(t.TempDir(), "prices.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); coleo.ErrorCode(err) != coleo.EInvalid || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
