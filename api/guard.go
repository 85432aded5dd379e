package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"coleo.dev"
	"coleo.dev/api/token"
)

// contentPolicy allows the page to load only files of this server. It allows inline styles, which
// xterm.js writes, but no inline scripts.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// withHeaders sets the security headers of every answer.
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

// trust accepts requests over the socket without a token, because only the user can open the socket. A process
// inside an arm runs as the same user. So trust accepts a request of such a process only with an operator token
// that was made for this arm. A request with an operator token has only the rights of this token.
func (s *Server) trust(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitorOf(r)
		value, ok := headerToken(r)
		operates := ok && token.IsValue(value)
		if v.refusal != nil && (!operates || v.place.arm == "") {
			writeError(w, v.refusal)
			return
		}
		if operates {
			shown, err := s.operatorPass(r.Context(), value, v)
			if err != nil {
				writeError(w, err)
				return
			}
			serveAs(*shown, next, w, r)
			return
		}
		next.ServeHTTP(w, r.WithContext(withCaller(r.Context(), v.caller)))
	})
}

// guard accepts a request over TCP under these conditions:
//   - The Host header names this server.
//   - The request does not come from a page of another origin.
//   - The request has the API token, an operator token, or the signature of a signed-in page.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkPlace(r); err != nil {
			writeError(w, err)
			return
		}
		if isPage(r) {
			s.page(w, r)
			return
		}
		shown, err := s.passFor(w, r)
		switch {
		case err != nil:
			refuse(w, err)
		case shown != nil:
			serveAs(*shown, next, w, r)
		case isOpen(r):
			next.ServeHTTP(w, r)
		default:
			writeError(w, coleo.Errorf(coleo.EUnauthorized,
				"this needs a token: send it as Authorization: Bearer, or as X-API-Key"))
		}
	})
}

// isOpen reports whether guard accepts a request without a token or a signature. The route of such
// a request decides whether it answers the caller.
func isOpen(r *http.Request) bool {
	switch r.URL.Path {
	case "/api/health":
		return r.Method == get
	case "/api/signin":
		return r.Method == get || r.Method == post
	}
	// guard accepts a WebSocket without a token, because the method accept requires the token in the first message
	return isWebhook(r) || r.Method == get && isSocket(r)
}

// checkPlace refuses a request if its Host header is not a name of this server, or if a page of
// another origin sent the request. The check of the Host header stops DNS rebinding. In this
// attack, the host name of a foreign page suddenly resolves to this server. The browser then
// believes that the page and this server have the same origin.
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

// ownHost reports whether the Host header is a loopback name with this server's port.
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
		return coleo.Errorf(coleo.EInvalid,
			"the API is served on this machine only: %q is not a loopback address with a port", addr)
	}
	return nil
}

// passFor returns a pass for the caller of a request, based on the token or the signature in the
// request. If the request contains neither, passFor returns nil and no error. A wrong token is
// always an error, even if the request also has a signature.
func (s *Server) passFor(w http.ResponseWriter, r *http.Request) (*pass, error) {
	value, ok := headerToken(r)
	switch {
	case !ok:
		return s.signedBy(w, r)
	case token.IsValue(value):
		return s.operatorPass(r.Context(), value, visitor{})
	}
	p, ok := s.token.check(value)
	if !ok {
		return nil, coleo.Errorf(coleo.EUnauthorized, "the API token is wrong")
	}
	return &p, nil
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

func sameText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
