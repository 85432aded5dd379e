package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"coleo.dev/wire"
)

// enterBy opens a link as a browser does, and returns the response.
func enterBy(t *testing.T, link string) *http.Response {
	t.Helper()
	page, code, _ := strings.Cut(link, "/enter#")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := key.PublicKey.Bytes()
	body, _ := json.Marshal(map[string]any{"code": code, "key": public})
	r, err := http.NewRequest("POST", page+"/api/signin", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", page)
	r.Header.Set("User-Agent", "Test/1")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

type printedLink struct{ Dashboard string }

type printedBrowsers struct{ Browsers []wire.Browser }

// acceptsCookie reports whether serve accepts a cookie as the sign-in of a browser.
func (w *world) acceptsCookie(c *http.Cookie) bool {
	w.t.Helper()
	r, err := http.NewRequest("GET", "http://"+strings.TrimSpace(w.read("state/serve.sock.addr"))+"/api/signin", nil)
	w.check(err)
	r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	resp, err := http.DefaultClient.Do(r)
	w.check(err)
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestWebGivesLinksAndTakesBrowsersAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	if e := w.fails(8, "web"); !strings.Contains(e.Message, "coleo up") {
		t.Errorf("without serve: %v", e)
	}
	first := decode[printedLink](w, "up").Dashboard
	second := strings.TrimSpace(w.must("web"))
	token := strings.TrimSpace(w.read("state/token"))
	for _, link := range []string{first, second} {
		if strings.Contains(link, token) || strings.Contains(link, "?") || !strings.Contains(link, "/enter#") {
			t.Errorf("link %q: want a code behind the #, and no token", link)
		}
		if resp := enterBy(t, link); resp.StatusCode != http.StatusNoContent {
			t.Errorf("the link: %s", resp.Status)
		}
		if resp := enterBy(t, link); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the link, again: %s", resp.Status)
		}
	}
	list := decode[printedBrowsers](w, "web", "list").Browsers
	if len(list) != 2 || list[0].Agent != "Test/1" || !strings.Contains(w.must("web", "list"), list[1].ID) {
		t.Fatalf("browsers = %+v", list)
	}
	for args, code := range map[string]int{"revoke": 2, "revoke --all x": 2, "revoke a b": 2, "revoke nobody": 4,
		"bogus": 2} {
		w.fails(code, append([]string{"web"}, strings.Fields(args)...)...)
	}
	if out := w.must("web", "revoke", list[0].ID); out != "signed out: 1\n" {
		t.Errorf("revoke printed %q", out)
	}
	if out := w.must("web", "revoke", "--all"); out != "signed out: 1\n" {
		t.Errorf("revoke --all printed %q", out)
	}
	if out := w.must("web", "list"); out != "no browser is signed in\n" {
		t.Errorf("list printed %q", out)
	}
}

func TestTheTokenIsReplacedWhileServeRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.must("up")
	serve, former := w.onlyProcess("serve"), strings.TrimSpace(w.read("state/token"))
	out := w.must("web", "rotate-token")
	fresh := strings.TrimSpace(w.read("state/token"))
	if fresh == former || strings.Contains(out, fresh) || !strings.Contains(out, w.path("state/token")) {
		t.Errorf("printed %q; the token is new: %v", out, fresh != former)
	}
	info, err := os.Stat(w.path("state/token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v (%v), want 0600", info.Mode(), err)
	}
	for token, want := range map[string]int{former: 401, fresh: 200} {
		r, err := http.NewRequest("GET", "http://"+strings.TrimSpace(w.read("state/serve.sock.addr"))+"/api/arms", nil)
		w.check(err)
		r.Header.Set("X-API-Key", token)
		resp, err := http.DefaultClient.Do(r)
		w.check(err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a token: %s, want %d", resp.Status, want)
		}
	}
	if w.onlyProcess("serve") != serve {
		t.Error("serve was started anew")
	}
}

// Browsers must stay signed in if serve gets its port back. If another program has had the port
// meanwhile, they must be signed out.
func TestBrowsersStaySignedInOnlyWhileThePortIsServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const ip = "127.77.0.2" // no other test uses this address
	free, err := net.Listen("tcp", ip+":0")
	w.check(err)
	addr := free.Addr().String()
	w.check(free.Close())
	w.write("config/config.toml", strings.Replace(w.read("config/config.toml"), "127.0.0.1:0", addr, 1))
	cookie := enterBy(t, decode[printedLink](w, "up").Dashboard).Cookies()[0]
	w.must("down")
	w.must("up")
	if !w.acceptsCookie(cookie) {
		t.Error("signed out by a restart")
	}
	w.must("down")
	squatter, err := net.Listen("tcp", addr)
	w.check(err)
	r := w.run("serve")
	if r.code != 5 || !strings.Contains(r.err, "all browsers are signed out") {
		t.Errorf("serve without its port: %v", r)
	}
	w.check(squatter.Close())
	w.must("up")
	if w.acceptsCookie(cookie) {
		t.Error("still signed in, though another program had the port")
	}
}
