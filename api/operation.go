package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// operation is the description of one route, short enough for one line of a table.
type operation struct {
	method  string
	path    string
	id      string // the id of the operation, which generated clients use as a name
	summary string
	status  int // the HTTP status after success; 0 means 200
}

// reply is an answer with a JSON body.
type reply[T any] struct {
	Body T
}

// armOnly is the request of a route that needs nothing but the arm.
type armOnly struct {
	ID string `path:"id" doc:"Id or name of the arm"`
}

// armBody is the request of a route with a body. If T is a pointer, the body is
// optional.
type armBody[T any] struct {
	ID   string `path:"id" doc:"Id or name of the arm"`
	Body T
}

// table collects the routes.
type table struct {
	huma.API
	s *Server
}

// The function add adds a route. If the route changes something, its calls are audited. huma's
// limits for the body are off, because boundBodies has already bounded the body. huma's deadline
// would stay on the connection after the body was read, and would cancel every request that takes
// longer.
func add[I, O any](described table, o operation, f func(context.Context, *I) (*reply[O], error)) {
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
	if o.method != get {
		f = audited(described.s, o.id, f)
	}
	huma.Register(described.API, op, func(ctx context.Context, in *I) (*reply[O], error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, fail(err)
		}
		return out, nil
	})
}

// The function do makes the function for a route. That function calls a method of the brain with
// the arm of the request, and answers with the result of the method.
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
	get  = http.MethodGet
	post = http.MethodPost
	edit = http.MethodPatch
	del  = http.MethodDelete

	patch = http.MethodPatch
	put   = http.MethodPut
)
