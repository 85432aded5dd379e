package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"coleo.dev"
)

func TestTheTokenIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	h := s.Handler(false)
	cookie := signIn(t, s, within(h)).cookie.String()
	for _, c := range []struct {
		name    string
		path    string
		headers []string
		status  int
	}{
		{"no token", "/api/arms", nil, 401},
		{"bearer", "/api/arms", []string{"Authorization", "Bearer " + testToken}, 200},
		{"bearer, in small letters", "/api/arms", []string{"Authorization", "bearer " + testToken}, 200},
		{"key", "/api/arms", []string{"X-API-Key", testToken}, 200},
		{"wrong bearer", "/api/arms", []string{"Authorization", "Bearer " + testToken + "x"}, 401},
		{"wrong key", "/api/arms", []string{"X-API-Key", "x"}, 401},
		{"another scheme", "/api/arms", []string{"Authorization", "Basic " + testToken}, 401},
		{"wrong token beside the right cookie", "/api/arms", []string{"X-API-Key", "x", "Cookie", cookie}, 401},
		{"cookie", "/api/arms", []string{"Cookie", cookie}, 401},
		{"right token beside the cookie", "/api/arms", []string{"X-API-Key", testToken, "Cookie", cookie}, 200},
		{"wrong cookie", "/api/arms", []string{"Cookie", s.cookieName() + "=" + testToken}, 401},
		{"token in the query of the API", "/api/arms?token=" + testToken, nil, 401},
		{"the page without", "/", nil, 401},
		{"the page with a token in the query", "/?token=" + testToken, nil, 401},
		{"the page with the cookie", "/", []string{"Cookie", cookie}, 200},
		{"the page with a wrong cookie", "/", []string{"Cookie", s.cookieName() + "=x.y"}, 401},
		{"the door without", "/enter", nil, 200},
		{"a nonce without", "/api/signin", nil, 401},
		{"a nonce with the cookie", "/api/signin", []string{"Cookie", cookie}, 200},
		{"a nonce with the cookie, for a page at another port",
			"/api/signin", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 401},
		{"health without", "/api/health", nil, 200},
		{"health with a wrong one", "/api/health", []string{"X-API-Key", "x"}, 401},
		{"the description without", "/api/openapi.json", nil, 401},
		{"a file of the page without", "/app.js", nil, 200},
		{"no file of the page", "//api/arms", nil, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, h, "GET", c.path, "", c.headers...)
			if resp.StatusCode != c.status {
				t.Fatalf("status = %d, want %d; body %s", resp.StatusCode, c.status, body)
			}
			if c.status == 401 && !strings.HasPrefix(c.path, "/?") && c.path != "/" &&
				errorCode(t, body) != coleo.EUnauthorized {
				t.Errorf("body = %s, want code %s", body, coleo.EUnauthorized)
			}
		})
	}
}

func TestALinkSignsOneBrowserIn(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	p := signIn(t, s, within(s.Handler(false)))
	if c := p.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("cookie %v: want HttpOnly, SameSite=Strict, Path=/", c)
	}
	code := s.browsers.NewLink().Code
	for _, c := range []struct {
		name   string
		code   string
		change func(*http.Request)
		status int
	}{
		{"without an Origin", code, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		{"from another page", code, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8081") }, 403},
		{"at another name", code, func(r *http.Request) {
			r.Host = "localhost:8080"
			r.Header.Set("Origin", "http://localhost:8080")
		}, 403},
		{"a code of nobody's", "x", func(*http.Request) {}, 401},
		{"no code", "", func(*http.Request) {}, 401},
		{"the right one", code, func(*http.Request) {}, 204},
		{"again", code, func(*http.Request) {}, 401},
	} {
		raw, _ := p.key.PublicKey.Bytes()
		body, _ := json.Marshal(entry{Code: c.code, Key: raw})
		r := p.bare("POST", "/api/signin", string(body))
		r.Header.Del("Cookie")
		c.change(r)
		resp := p.send(r)
		if resp.StatusCode != c.status || (len(resp.Cookies()) == 1) != (c.status == 204) {
			t.Errorf("%s: status = %d with %d cookies, want %d", c.name, resp.StatusCode, len(resp.Cookies()), c.status)
		}
	}
	if resp, body := ask(t, s.Handler(false), "POST", "/api/signin", `{"code":"x","key":"AAAA"}`, "Origin",
		s.origin()); resp.StatusCode != 422 {
		t.Errorf("a key that is none: %d %s", resp.StatusCode, body)
	}
}

// If the same browser signs in a second time, the second sign-in replaces the first.
func TestABrowserIsSignedInOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	p := signIn(t, s, within(s.Handler(false)))
	if resp := p.enter(s.browsers.NewLink().Code); resp.StatusCode != 204 {
		t.Fatalf("status = %d", resp.StatusCode)
	}
	if got := p.status(p.signed("GET", "/api/arms", "")); got != 401 {
		t.Errorf("its former cookie: %d, want 401", got)
	}
	if n := len(s.browsers.List()); n != 1 {
		t.Errorf("%d browsers, want 1", n)
	}
}

func TestThePageIsAtOneNameAlone(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(false)
	for path, want := range map[string]string{"/": "http://127.0.0.1:8080/", "/enter": "http://127.0.0.1:8080/enter"} {
		resp, _ := ask(t, h, "GET", path, "", "Host", "localhost:8080")
		if resp.StatusCode != http.StatusTemporaryRedirect || resp.Header.Get("Location") != want {
			t.Errorf("localhost%s: %d to %q, want %s", path, resp.StatusCode, resp.Header.Get("Location"), want)
		}
	}
}

func TestAServiceWorkerOfOurOriginIsRemoved(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(false)
	resp, body := ask(t, h, "GET", "/whatever.js", "", "Service-Worker", "script")
	if resp.StatusCode != 200 || !strings.Contains(body, "registration.unregister()") ||
		!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
}

func TestForeignHostsAndOriginsAreRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(false)
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:8080", "", 200},
		{"localhost:8080", "", 200},
		{"LOCALHOST:8080", "", 200},
		{"127.0.0.2:8080", "", 200},
		{"[::1]:8080", "", 200},
		{"127.0.0.1:8081", "", 403},
		{"127.0.0.1", "", 403},
		{"", "", 403},
		{"evil.example:8080", "", 403},
		{"localhost.evil.example:8080", "", 403},
		{"127.0.0.1.evil.example:8080", "", 403},
		{"10.0.0.1:8080", "", 403},
		{"0.0.0.0:8080", "", 403},
		{"127.0.0.1:8080", "http://127.0.0.1:8080", 200},
		{"127.0.0.1:8080", "https://127.0.0.1:8080", 403},
		{"127.0.0.1:8080", "http://localhost:8080", 403},
		{"127.0.0.1:8080", "http://127.0.0.1:3000", 403},
		{"127.0.0.1:8080", "http://127.0.0.1", 403},
		{"127.0.0.1:8080", "http://evil.example", 403},
		{"127.0.0.1:8080", "null", 403},
	} {
		t.Run(c.host+" "+c.origin, func(t *testing.T) {
			t.Parallel()
			headers := []string{"Host", c.host, "X-API-Key", testToken}
			if c.origin != "" {
				headers = append(headers, "Origin", c.origin)
			}
			for _, path := range []string{"/api/arms", "/api/health"} {
				resp, body := ask(t, h, "GET", path, "", headers...)
				if resp.StatusCode != c.status {
					t.Fatalf("%s: status = %d, want %d; body %s", path, resp.StatusCode, c.status, body)
				}
				if c.status == 403 && errorCode(t, body) != coleo.EForbidden {
					t.Errorf("body = %s, want code forbidden", body)
				}
			}
		})
	}
}

func TestTwoOriginsAreRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	r, _ := http.NewRequest("GET", "http://127.0.0.1:8080/api/arms", nil)
	r.Header["Origin"] = []string{"http://127.0.0.1:8080", "http://evil.example"}
	if coleo.ErrorCode(s.checkPlace(r)) != coleo.EForbidden {
		t.Error("a second Origin got through")
	}
}

func TestTheSocketAsksForNoToken(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(true)
	if resp, body := ask(t, h, "GET", "/api/arms", "", "Host", "coleo"); resp.StatusCode != 200 {
		t.Errorf("status = %d; %s", resp.StatusCode, body)
	}
}

func TestWithoutATokenNobodyGetsInOverTCP(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Brain: &scriptedBrain{}, Addr: "127.0.0.1:8080"})
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handler(false)
	for _, headers := range [][]string{
		nil,
		{"Authorization", "Bearer "},
		{"X-API-Key", ""},
		{"Cookie", s.cookieName() + "="},
	} {
		if resp, _ := ask(t, h, "GET", "/api/arms", "", headers...); resp.StatusCode != 401 {
			t.Errorf("%v: status = %d, want 401", headers, resp.StatusCode)
		}
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	t.Parallel()
	h := newServer(t, &scriptedBrain{}).Handler(false)
	for _, path := range []string{"/api/arms", "/", "/api/health", "/nothing"} {
		resp, _ := ask(t, h, "GET", path, "")
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy = %q", path, policy)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no nosniff", path)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no brain":            {},
		"a short token":       {Brain: &scriptedBrain{}, Token: "short"},
		"all addresses":       {Brain: &scriptedBrain{}, Addr: "0.0.0.0:8080"},
		"no address":          {Brain: &scriptedBrain{}, Addr: ":8080"},
		"another machine's":   {Brain: &scriptedBrain{}, Addr: "10.1.2.3:8080"},
		"an address of words": {Brain: &scriptedBrain{}, Addr: "localhost"},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestASignInIsAudited also checks that a browser is not signed in if the audit cannot be written.
func TestASignInIsAudited(t *testing.T) {
	t.Parallel()
	b := &scriptedBrain{}
	s := newServer(t, b)
	p := signIn(t, s, within(s.Handler(false)))
	browser := s.browsers.List()[0].ID
	want := coleo.Caller{Kind: coleo.CallerCookie, ID: browser}
	if got := b.list; len(got) != 1 || got[0].Command != "sign-in-browser" || got[0].Caller != want {
		t.Fatalf("the audit holds %+v, want one sign-in of %+v", got, want)
	}
	b.full = coleo.Errorf(coleo.EInternal, "no room")
	raw, _ := p.key.PublicKey.Bytes()
	body, _ := json.Marshal(entry{Code: s.browsers.NewLink().Code, Key: raw})
	resp, text := ask(t, s.Handler(false), "POST", "/api/signin", string(body), "Origin", s.origin())
	if resp.StatusCode != 500 || len(resp.Cookies) != 0 || len(s.browsers.List()) != 1 {
		t.Errorf("without an audit: %d %s, %d cookies, %d browsers signed in", resp.StatusCode, text, len(resp.Cookies),
			len(s.browsers.List()))
	}
}
