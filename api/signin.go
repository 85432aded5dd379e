package api

import (
	"context"
	"crypto/rand"
	_ "embed" // this import is needed to embed the file of tokenPage
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"coleo.dev"
	"coleo.dev/api/signin"
	"coleo.dev/web"
	"coleo.dev/wire"
)

// signaturePlace is the name of the header that contains the page's signature of a request. Pages
// cannot set headers of a WebSocket handshake. The signature of a handshake is therefore the last
// part of the query, after signatureQuery.
const (
	signaturePlace = "Coleo-Signature"
	signatureQuery = "signature="
)

// origin returns the only origin that the page can have. The origin is the address on which this
// server listens, as browsers write it. A different loopback name with the same port is a different
// origin, and another program could answer there. For example, browsers first resolve localhost to
// [::1].
func (s *Server) origin() string { return "http://" + s.ownName() }

// ownName returns the Host header of requests to the origin.
func (s *Server) ownName() string { return strings.TrimSuffix(s.addr, ":80") }

// signedBy returns a pass for the browser that has signed a request. If the request has no
// signature, or does not come from a signed-in browser, signedBy returns nil and no error.
func (s *Server) signedBy(w http.ResponseWriter, r *http.Request) (*pass, error) {
	cookie, ok := s.pageCookie(r)
	if !ok {
		return nil, nil
	}
	if r.Method != get && r.Method != http.MethodHead && r.Header.Get("Origin") == "" {
		return nil, coleo.Errorf(coleo.EForbidden,
			"a request that changes something and comes with the page's cookie must name its Origin")
	}
	asked := signin.Request{Method: r.Method, URI: r.RequestURI}
	proof := r.Header.Get(signaturePlace)
	if isSocket(r) {
		asked.URI, proof, _ = strings.Cut(r.RequestURI, signatureQuery)
		asked.URI = strings.TrimRight(asked.URI, "?&")
	}
	if proof == "" {
		return nil, nil
	}
	if r.Host != s.ownName() {
		return nil, coleo.Errorf(coleo.EForbidden, "the page is only at %s, not at %s", s.origin(), r.Host)
	}
	var err error
	if asked.Body, err = s.readBody(w, r); err != nil {
		return nil, err
	}
	found, err := s.browsers.Check(cookie, proof, asked)
	if err != nil {
		return nil, coleo.Errorf(coleo.EUnauthorized, "the page's request was refused: %w", err)
	}
	return &pass{coleo.Caller{Kind: coleo.CallerCookie, ID: found.ID}, found.Live, nil}, nil
}

// pageCookie returns the cookie of a signed-in browser from a request. It ignores the
// cookie in two cases:
//   - The header Sec-Fetch-Site says that a page of another origin has sent the
//     request.
//   - The request is for a WebSocket and has no Origin.
func (s *Server) pageCookie(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(s.cookieName())
	if err != nil || !s.browsers.Knows(cookie.Value) {
		return "", false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return "", false
	}
	return cookie.Value, !isSocket(r) || r.Header.Get("Origin") != ""
}

func isSocket(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/ws") }

// cookieName returns the name of the cookie. The name contains the port, because a
// browser sends a cookie to all ports of a host.
func (s *Server) cookieName() string {
	_, port, _ := net.SplitHostPort(s.addr)
	return "coleo_" + port
}

// signinRoutes adds the routes with which a page signs in. They are not part of the
// description of the API.
func (s *Server) signinRoutes() {
	s.routes.HandleFunc("POST /api/signin", s.enter)
	s.routes.HandleFunc("GET /api/signin", s.giveNonce)
}

// entry is the body of the request with which a browser signs in.
type entry struct {
	Code string `json:"code"` // the code of the link
	// Key is the public key of the browser, in the format "raw" of WebCrypto. In JSON
	// it is base64.
	Key []byte `json:"key"`
}

// enter signs a browser in. It takes the code of a link and the browser's public key, and sends a
// cookie.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != s.origin() || r.Host != s.ownName() {
		writeError(w, coleo.Errorf(coleo.EForbidden, "a browser can sign in only at %s", s.origin()))
		return
	}
	var in entry
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil && err != io.EOF {
		writeError(w, coleo.Errorf(coleo.EInvalid, "read the code and the key: %w", err))
		return
	}
	before := ""
	if c, err := r.Cookie(s.cookieName()); err == nil {
		before = c.Value
	}
	found, value, err := s.browsers.Enter(in.Code, in.Key, r.UserAgent(), before)
	if err != nil {
		writeError(w, err)
		return
	}
	if err := s.auditEntry(r.Context(), found); err != nil {
		writeError(w, err)
		return
	}
	s.log.Info("a browser signed in", "id", found.ID, "agent", found.Agent)
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}

// auditEntry writes into the audit that a browser has signed in. If this fails,
// auditEntry signs the browser out again.
func (s *Server) auditEntry(ctx context.Context, b wire.Browser) error {
	ctx = withCaller(ctx, coleo.Caller{Kind: coleo.CallerCookie, ID: b.ID})
	end, err := s.audit(ctx, "sign-in-browser", "", map[string]string{"agent": short(b.Agent)})
	if err != nil {
		return errors.Join(err, s.browsers.SignOut(b.ID))
	}
	end(nil)
	return nil
}

// nonce is the answer of giveNonce. The page signs its next requests with this nonce.
type nonce struct {
	Nonce string `json:"nonce"`
	Life  int64  `json:"life"` // how long the nonce is valid, in milliseconds
}

// giveNonce sends a nonce to a browser that has a valid cookie. Nobody can use a nonce without the
// browser's key.
func (s *Server) giveNonce(w http.ResponseWriter, r *http.Request) {
	cookie, _ := s.pageCookie(r)
	drawn, life, err := s.browsers.Nonce(cookie)
	if err != nil {
		writeError(w, coleo.Errorf(coleo.EUnauthorized, "%w: open the link that `coleo web` prints", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(nonce{drawn, life.Milliseconds()})
}

// isPage reports whether a request is for a file of the page. These files are the same
// for everybody, and contain no data of the user.
func isPage(r *http.Request) bool {
	return (r.Method == get || r.Method == http.MethodHead) && !strings.HasPrefix(r.URL.Path, "/api/") && !isSocket(r)
}

// page serves the files of the dashboard. If a browser that is not signed in asks for /, page sends
// the page that explains how to sign in. A link for signing in opens the same page at /enter.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	door := r.URL.Path == "/enter"
	if (door || r.URL.Path == "/") && r.Host != s.ownName() {
		http.Redirect(w, r, s.origin()+r.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	cookie, err := r.Cookie(s.cookieName())
	switch {
	case r.Header.Get("Service-Worker") != "":
		removeWorker(w)
	case door:
		showDoor(w, http.StatusOK)
	case r.URL.Path == "/" && (err != nil || !s.browsers.Knows(cookie.Value)):
		showDoor(w, http.StatusUnauthorized)
	default:
		web.Handler().ServeHTTP(w, r)
	}
}

// showDoor sends the page that explains how to sign in. A browser receives this page after it has
// opened a link for signing in. It also receives the page if it opens the dashboard without being
// signed in.
func showDoor(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(tokenPage)
}

//go:embed token.html
var tokenPage []byte

// removeWorker answers a browser that looks for a newer service worker of this origin. The
// dashboard has no service worker, so such a browser still has one from a program that used this
// port earlier. The old service worker would intercept the browser's requests to the dashboard.
// removeWorker therefore sends a service worker that removes itself.
func removeWorker(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = io.WriteString(w, `addEventListener("install", () => skipWaiting());
addEventListener("activate", (e) => e.waitUntil((async () => {
  await registration.unregister();
  for (const page of await clients.matchAll({ type: "window", includeUncontrolled: true })) page.navigate(page.url);
})()));
`)
}

// browserRoutes adds the routes that only processes of the user can call. A caller with only the
// API token must not create a sign-in, because the sign-in would stay valid after the token is
// replaced.
func (s *Server) browserRoutes(described table) {
	change(described, operation{post, "/api/browsers/links", "create-link",
		"Make a link that signs one browser in, once (Unix socket only)", http.StatusCreated}, ownOnly(s.newLink), noDetail)
	add(described, operation{get, "/api/browsers", "list-browsers",
		"List the browsers that are signed in (Unix socket only)", 0}, ownOnly(s.listBrowsers))
	change(described, operation{del, "/api/browsers/{id}", "sign-out-browser",
		"Sign one browser out (Unix socket only)", 0}, ownOnly(s.signOut), browserDetail)
	change(described, operation{del, "/api/browsers", "sign-out-browsers", "Sign all browsers out (Unix socket only)", 0},
		ownOnly(s.signOutAll), noDetail)
	change(described, operation{post, "/api/token", "replace-token", "Replace the API token (Unix socket only)", 0},
		ownOnly(s.replaceToken), noDetail)
}

// ownOnly wraps f so that it refuses callers that do not use the unix socket.
func ownOnly[I, O any](f func(context.Context, *I) (*reply[O], error)) func(context.Context, *I) (*reply[O], error) {
	return func(ctx context.Context, in *I) (*reply[O], error) {
		if callerOf(ctx).Kind != coleo.CallerSocket {
			return nil, coleo.Errorf(coleo.EForbidden,
				"only the `coleo` command of the same user may do that, through its socket")
		}
		return f(ctx, in)
	}
}

func (s *Server) newLink(context.Context, *struct{}) (*reply[wire.Link], error) {
	if s.addr == "" {
		return nil, coleo.Errorf(coleo.EUnsupported, "this server has no address for browsers")
	}
	made := s.browsers.NewLink()
	return &reply[wire.Link]{Body: wire.Link{URL: s.origin() + "/enter#" + made.Code, Expires: made.Expires}}, nil
}

func (s *Server) listBrowsers(context.Context, *struct{}) (*reply[wire.BrowsersReply], error) {
	return &reply[wire.BrowsersReply]{Body: wire.BrowsersReply{Browsers: s.browsers.List()}}, nil
}

type browserOnly struct {
	ID string `path:"id" doc:"Id of the browser"`
}

func (s *Server) signOut(_ context.Context, in *browserOnly) (*reply[wire.SignedOut], error) {
	if err := s.browsers.SignOut(in.ID); err != nil {
		return nil, err
	}
	return &reply[wire.SignedOut]{Body: wire.SignedOut{SignedOut: 1}}, nil
}

func (s *Server) signOutAll(context.Context, *struct{}) (*reply[wire.SignedOut], error) {
	n, err := s.browsers.SignOutAll()
	if err != nil {
		return nil, err
	}
	return &reply[wire.SignedOut]{Body: wire.SignedOut{SignedOut: n}}, nil
}

func (s *Server) replaceToken(context.Context, *struct{}) (*reply[wire.TokenReply], error) {
	if s.keepToken == nil {
		return nil, coleo.Errorf(coleo.EUnsupported, "this server has no API token")
	}
	fresh := strings.ToLower(rand.Text())
	if err := s.token.replace(fresh, s.keepToken); err != nil {
		return nil, err
	}
	s.log.Info("the API token was replaced", "fingerprint", fingerprint(fresh))
	return &reply[wire.TokenReply]{Body: wire.TokenReply{Fingerprint: fingerprint(fresh)}}, nil
}
