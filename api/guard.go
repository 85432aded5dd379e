package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // for tokenPage
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"coleo.dev"
)

// contentPolicy lets the page load its own files and nothing else. Styles may
// be inline, because xterm.js writes its own; scripts may not.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// proven is the key under which a request's context says that its caller has
// shown the token, or needs none.
type proven struct{}

func markProven(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), proven{}, true))
}

func isProven(r *http.Request) bool {
	ok, _ := r.Context().Value(proven{}).(bool)
	return ok
}

// withHeaders sets what browsers are told with every answer.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// trust lets requests over the socket pass without a token: the user alone can
// open it. What runs inside an arm is the user too, and is refused.
func (s *Server) trust(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, ok := visitorOf(r); ok && v.refused != nil {
			writeError(w, v.refused)
			return
		}
		next.ServeHTTP(w, markProven(r))
	})
}

// guard lets a request from TCP pass when it names this server as its host,
// comes from no foreign page, and shows the token.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkPlace(r); err != nil {
			writeError(w, err)
			return
		}
		if r.Method == get && r.URL.Path == "/" && r.URL.Query().Has("token") {
			s.letIn(w, r)
			return
		}
		shown, err := s.shown(r)
		switch {
		case err != nil:
			writeError(w, err)
		case shown:
			next.ServeHTTP(w, markProven(r))
		case r.Method == get && r.URL.Path == "/api/health":
			next.ServeHTTP(w, r)
		case r.Method == get && strings.HasPrefix(r.URL.Path, "/ws"):
			next.ServeHTTP(w, r) // its first message must show the token
		case r.Method == get && r.URL.Path == "/":
			askForToken(w)
		default:
			writeError(w, coleo.Errorf(coleo.EUnauthorized, "this needs the API token: send it as Authorization: Bearer, or as X-API-Key"))
		}
	})
}

// checkPlace refuses names that are not this server's, which a page gets
// through DNS rebinding, and pages that are not this server's.
func (s *Server) checkPlace(r *http.Request) error {
	if !s.ownHost(r.Host) {
		return coleo.Errorf(coleo.EForbidden, "%q is not a name of this server", r.Host)
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	if len(origins) > 1 || origins[0] != "http://"+r.Host {
		return coleo.Errorf(coleo.EForbidden, "pages of %q may not call this server", strings.Join(origins, ", "))
	}
	return nil
}

// ownHost tells whether a Host header is a loopback name with our port.
func (s *Server) ownHost(host string) bool {
	_, ours, err := net.SplitHostPort(s.addr)
	if err != nil {
		return false
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	return port == ours && isLoopback(name)
}

func isLoopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

func checkLoopback(addr string) error {
	if addr == "" {
		return nil
	}
	name, _, err := net.SplitHostPort(addr)
	if err != nil || !isLoopback(name) {
		return coleo.Errorf(coleo.EInvalid, "the API is served on this machine only: %q is no loopback address with a port", addr)
	}
	return nil
}

// shown tells whether the request shows the token. A wrong one is an error.
// The cookie counts only for what the page itself asks for: browsers say so,
// and for a WebSocket it must name its origin.
func (s *Server) shown(r *http.Request) (bool, error) {
	if token, ok := headerToken(r); ok {
		if !s.rightToken(token) {
			return false, coleo.Errorf(coleo.EUnauthorized, "the API token is not the right one")
		}
		return true, nil
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil || s.token == "" || !same(cookie.Value, s.cookieValue()) {
		return false, nil
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false, nil
	}
	if strings.HasPrefix(r.URL.Path, "/ws") {
		return r.Header.Get("Origin") != "", nil
	}
	return true, nil
}

func headerToken(r *http.Request) (string, bool) {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return key, true
	}
	value := r.Header.Get("Authorization")
	if value == "" {
		return "", false
	}
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true
	}
	return strings.TrimSpace(token), true
}

func (s *Server) rightToken(token string) bool {
	return s.token != "" && same(token, s.token)
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// letIn exchanges the token in a link for a cookie, once, and takes it out of
// the address bar.
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) {
	if !s.rightToken(r.URL.Query().Get("token")) {
		askForToken(w)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: s.cookieValue(), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// cookieName holds the port, because browsers keep no cookies apart by port.
func (s *Server) cookieName() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return "coleo_" + port
}

// cookieValue is derived from the token, which stays out of the browser's
// store.
func (s *Server) cookieValue() string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("dashboard cookie"))
	return hex.EncodeToString(mac.Sum(nil))
}

// askForToken answers who opens the dashboard without having been let in.
func askForToken(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(tokenPage)
}

// tokenPage stands by itself: whoever sees it may load nothing else.
//
//go:embed token.html
var tokenPage []byte
