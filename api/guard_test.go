package api

import (
	"net/http"
	"strings"
	"testing"

	"coleo.dev"
)

func TestTheTokenIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	h := s.Handler(false)
	cookie := s.cookieName() + "=" + s.cookieValue()
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
		{"cookie", "/api/arms", []string{"Cookie", cookie}, 200},
		{"cookie, asked for by our page", "/api/arms", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, 200},
		{"cookie, asked for by a page at another port", "/api/arms", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, 401},
		{"cookie, asked for by a foreign page", "/api/arms", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, 401},
		{"wrong cookie", "/api/arms", []string{"Cookie", s.cookieName() + "=" + testToken}, 401},
		{"token in the query of the API", "/api/arms?token=" + testToken, nil, 401},
		{"the page without", "/", nil, 401},
		{"health without", "/api/health", nil, 200},
		{"health with a wrong one", "/api/health", []string{"X-API-Key", "x"}, 401},
		{"the description without", "/api/openapi.json", nil, 401},
		{"a file of the page without", "/app.js", nil, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, h, "GET", c.path, "", c.headers...)
			if resp.StatusCode != c.status {
				t.Fatalf("status = %d, want %d; body %s", resp.StatusCode, c.status, body)
			}
			if c.status == 401 && c.path != "/" && errorCode(t, body) != coleo.EUnauthorized {
				t.Errorf("body = %s, want code %s", body, coleo.EUnauthorized)
			}
		})
	}
}

func TestALinkIsExchangedForACookie(t *testing.T) {
	t.Parallel()
	s := newServer(t, &scriptedBrain{})
	h := s.Handler(false)
	resp, _ := ask(t, h, "GET", "/?token="+testToken, "")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" {
		t.Fatalf("status = %d to %q, want 303 to /", resp.StatusCode, resp.Header.Get("Location"))
	}
	cookies := resp.Cookies
	if len(cookies) != 1 {
		t.Fatalf("%d cookies, want 1", len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, testToken) {
		t.Errorf("cookie %v: want HttpOnly, SameSite=Strict, and not the token itself", c)
	}
	if resp, body := ask(t, h, "GET", "/api/arms", "", "Cookie", c.Name+"="+c.Value); resp.StatusCode != 200 {
		t.Errorf("with the cookie: %d %s", resp.StatusCode, body)
	}
	resp, body := ask(t, h, "GET", "/?token=wrong", "")
	if resp.StatusCode != 401 || len(resp.Cookies) != 0 || !strings.Contains(body, "coleo web") {
		t.Errorf("a wrong link: %d, %d cookies, %q", resp.StatusCode, len(resp.Cookies), body)
	}
	if resp, _ := ask(t, h, "POST", "/?token="+testToken, ""); len(resp.Cookies) != 0 {
		t.Error("a POST was let in")
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
		{"Cookie", s.cookieName() + "=" + s.cookieValue()},
		{"Cookie", s.cookieName() + "="},
	} {
		if resp, _ := ask(t, h, "GET", "/api/arms", "", headers...); resp.StatusCode != 401 {
			t.Errorf("%v: status = %d, want 401", headers, resp.StatusCode)
		}
	}
	if resp, _ := ask(t, h, "GET", "/?token=", ""); len(resp.Cookies) != 0 {
		t.Error("an empty token was let in")
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
