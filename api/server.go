package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"coleo.dev"
	"coleo.dev/api/signin"
	"coleo.dev/api/token"
	"coleo.dev/web"
)

// These constants limit the size of what a caller sends, and the time that a caller can take.
const (
	maxBody       = 1 << 20          // the largest size of a body in bytes; prompts have the largest bodies
	maxHeader     = 64 << 10         // the largest size of a header in bytes; browsers send much less to one host
	headerTimeout = 10 * time.Second // how long the header of a request may take to arrive
	bodyTimeout   = 10 * time.Second // how long the body of a request may take to arrive; all callers are on this machine
	idleTimeout   = 2 * time.Minute  // how long a connection may stay open without a request
	stopTimeout   = 5 * time.Second  // how long a stopping server waits for the running requests
	minToken      = 16               // the smallest length of a token in characters; `coleo serve` makes longer ones
)

// Config is the configuration of a server.
type Config struct {
	Brain   Brain
	Token   string // the API token, for programs over TCP; "" means that no token is accepted
	Addr    string // the TCP address, such as "127.0.0.1:8080"; must be a loopback address
	Version string
	// Admit returns an error if a process must not call over the socket. If Admit is nil, every
	// process can call.
	Admit func(pid int) error
	// ArmOf returns the id of the arm to which a process belongs, or "". It returns an error if the
	// system does not reveal the arm. If ArmOf is nil, the server does not know the arm of any
	// process.
	ArmOf  func(pid int) (arm string, err error)
	Tokens token.Store // stores the operator tokens; nil means that there are no operator tokens
	// KeepToken stores a new API token at the place where programs look for it. If KeepToken is
	// nil, the token cannot be replaced.
	KeepToken func(token string) error
	// Browsers is the path of the file that contains the signed-in browsers. If the path is empty,
	// all browsers are signed out when the server ends.
	Browsers string
	Triggers Triggers         // the schedules and webhooks; nil means that the server has none
	Log      *slog.Logger     // nil means no log
	Now      func() time.Time // nil means time.Now
}

// Server answers HTTP and WebSocket requests. Several goroutines can use it at the same
// time.
type Server struct {
	brain   Brain
	token   *apiToken
	tokens  *token.Tokens
	addr    string
	version string
	admit   func(pid int) error
	armOf   func(pid int) (string, error)
	log     *slog.Logger
	now     func() time.Time
	started time.Time
	times   times
	routes  *routes
	sockets sync.WaitGroup // the running WebSockets; net/http does not wait for them

	keepToken func(string) error
	browsers  *signin.Browsers
	triggers  Triggers
}

// New returns a server. It returns EInvalid if the address is not a loopback address, or if the
// token has fewer than minToken characters. If the token is empty, the server accepts no API token.
func New(c Config) (*Server, error) {
	if c.Brain == nil {
		return nil, errors.New("make an API server: no brain")
	}
	if c.Token != "" && len(c.Token) < minToken {
		return nil, coleo.Errorf(coleo.EInvalid, "the API token has fewer than %d characters", minToken)
	}
	if err := checkLoopback(c.Addr); err != nil {
		return nil, err
	}
	s := &Server{
		token: newToken(c.Token), keepToken: c.KeepToken, addr: c.Addr, version: c.Version,
		admit: c.Admit, armOf: c.ArmOf, log: c.Log, now: c.Now, times: usualTimes(),
		triggers: c.Triggers,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.started = s.now()
	var err error
	if s.browsers, err = signin.Open(c.Browsers, s.origin(), s.now); err != nil {
		s.log.Warn("every browser is signed out", "because", err)
	}
	if s.tokens, err = token.Open(context.Background(), c.Tokens, s.now); err != nil {
		return nil, err
	}
	s.brain = fence{c.Brain, s.tokens}
	return s, s.route()
}

// Handler returns the handler for all requests.
//   - If trusted is true, requests need no token. This handler is for a socket that only the user can open.
//   - If trusted is false, requests need the token or a signed-in browser. This handler is for TCP.
func (s *Server) Handler(trusted bool) http.Handler {
	h := s.limitByToken(s.boundBodies(refuseExpired(s.followEvents(s.routes))))
	if trusted {
		h = s.trust(h)
	} else {
		h = s.guard(h)
	}
	return withHeaders(h)
}

// Serve answers the requests at a listener until ctx ends, and then closes the listener. It returns
// when the running requests have ended or have been cut off.
func (s *Server) Serve(ctx context.Context, l net.Listener, trusted bool) error {
	srv := &http.Server{
		Handler:           s.Handler(trusted),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       s.withVisitor,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan error, 1)
	quit := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		stopped <- errors.Join(srv.Shutdown(end), srv.Close())
	})
	err := srv.Serve(l)
	if !quit() {
		err = <-stopped
		s.sockets.Wait()
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API at %s: %w", l.Addr(), err)
	}
	return nil
}

// route builds the table of routes and the description of the API.
func (s *Server) route() error {
	s.routes = &routes{ServeMux: http.NewServeMux()}
	described := table{humago.New(s.routes, s.description()), s}
	s.armRoutes(described)
	s.steerRoutes(described)
	s.suspensionRoutes(described)
	s.lookRoutes(described)
	s.eventRoutes(described)
	s.fleetRoutes(described)
	s.threadRoutes(described)
	s.auditRoutes(described)
	s.providerRoutes(described)
	s.browserRoutes(described)
	s.tokenRoutes(described)
	s.triggerRoutes(described)
	s.signinRoutes()
	removeErrorModel(described.OpenAPI())
	// Writing the description takes half of the time that all routes take. Few people ask for it, so the first
	// request writes it.
	spec := sync.OnceValues(func() ([]byte, error) { return json.Marshal(described.OpenAPI()) })
	s.routes.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		text, err := spec()
		if err != nil {
			writeError(w, coleo.Errorf(coleo.EInternal, "describe the API: %w", err))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text)
	})
	s.routes.HandleFunc("POST /hooks/{name}", s.serveWebhook)
	s.routes.HandleFunc("GET /ws", s.serveFeed)
	s.routes.HandleFunc("GET /ws/terminal/{id}", s.serveTerminal)
	s.routes.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, coleo.Errorf(coleo.ENotFound, "no route %s %s; see /api/openapi.json", r.Method, r.URL.Path))
	})
	s.routes.HandleFunc("/", web.Handler().ServeHTTP)
	return s.routes.unknown()
}

// routes is an http.ServeMux that remembers the patterns of its routes.
type routes struct {
	*http.ServeMux
	patterns []string
}

// HandleFunc adds a route.
func (r *routes) HandleFunc(pattern string, f func(http.ResponseWriter, *http.Request)) {
	r.patterns = append(r.patterns, pattern)
	r.ServeMux.HandleFunc(pattern, f)
}

// unknown returns an error if package token does not say which operator tokens can use a route.
func (r *routes) unknown() error {
	for _, pattern := range r.patterns {
		_, needs := token.NeedOf(pattern)
		_, reaches := token.ReachOf(pattern)
		if !needs || !reaches {
			return fmt.Errorf("the route %s is not in the tables of package api/token", pattern)
		}
	}
	return nil
}

func (s *Server) description() huma.Config {
	asJSON := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: json.Unmarshal}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Coleo", Version: s.version,
				Description: "Arms are workers, each driven by one harness. Where a path has an {id}, " +
					"the arm's name does as well.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer"},
					"key":    {Type: "apiKey", In: "header", Name: "X-API-Key"},
				},
			},
			Security: []map[string][]string{{"bearer": {}}, {"key": {}}},
		},
		Formats:       map[string]huma.Format{"application/json": asJSON, "json": asJSON},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{sameBody},
	}
}

// removeErrorModel removes huma's error model from the description of the API, because sameBody
// never sends this model.
func removeErrorModel(o *huma.OpenAPI) {
	schemas := o.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}

// operation is the description of one route, short enough for one line of a table.
type operation struct {
	method  string
	path    string
	id      string // the id of the operation, which generated clients use as a name
	summary string
	status  int // the HTTP status of a successful answer; 0 means 200
}

// reply is an answer with a JSON body.
type reply[T any] struct {
	Body T
}

// armOnly is the request of a route that needs only the arm.
type armOnly struct {
	ID string `path:"id" doc:"Id or name of the arm"`
}

// armBody is the request of a route with a body. If T is a pointer, the body is
// optional.
type armBody[T any] struct {
	ID   string `path:"id" doc:"Id or name of the arm"`
	Body T
}

// table collects the routes, and describes them for users of the API.
type table struct {
	huma.API
	s *Server
}

// add adds a route that changes nothing.
func add[I, O any](described table, o operation, f func(context.Context, *I) (*reply[O], error)) {
	if o.method != get {
		panic("the route " + o.id + " changes something: use change, so that the audit has its calls")
	}
	register(described, o, f)
}

// change adds a route that changes something. Each call of the route is stored in the audit,
// together with the result of detailOf.
func change[I, O any](described table, o operation, f func(context.Context, *I) (*reply[O], error),
	detailOf auditDetail[I]) {
	register(described, o, withAudit(described.s, o.id, f, detailOf))
}

// register adds a route. It switches off huma's limits for the body, because boundBodies already
// limits the body. Otherwise huma's deadline would stay on the connection, and would cancel every
// request that takes longer.
func register[I, O any](described table, o operation, f func(context.Context, *I) (*reply[O], error)) {
	described.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[failure](), true, "Failure")
	tag, _, _ := strings.Cut(strings.TrimPrefix(o.path, "/api/"), "/")
	op := huma.Operation{
		Method: o.method, Path: o.path, OperationID: o.id, Summary: o.summary,
		DefaultStatus: o.status, Tags: []string{tag},
		MaxBodyBytes: -1, BodyReadTimeout: -1,
		Responses: map[string]*huma.Response{"default": {
			Description: "What went wrong",
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: &huma.Schema{Ref: "#/components/schemas/Failure"},
			}},
		}},
	}
	huma.Register(described.API, op, func(ctx context.Context, in *I) (*reply[O], error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, failureOf(err)
		}
		return out, nil
	})
}

// do returns the function for a route about an arm. That function calls a method of the brain with
// the arm, and answers with the result of the method.
func do[O any](call func(context.Context, string) (O, error)) func(context.Context, *armOnly) (*reply[O], error) {
	return func(ctx context.Context, in *armOnly) (*reply[O], error) {
		out, err := call(ctx, in.ID)
		if err != nil {
			return nil, err
		}
		return &reply[O]{Body: out}, nil
	}
}

const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)
