package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"coleo.dev"
)

// statusOf contains the HTTP status of each code. The status of ETimeout is 504, because browsers repeat a
// request on their own after a 408.
var statusOf = map[coleo.Code]int{
	coleo.EInvalid:      http.StatusUnprocessableEntity,
	coleo.EUnauthorized: http.StatusUnauthorized,
	coleo.EForbidden:    http.StatusForbidden,
	coleo.ENotFound:     http.StatusNotFound,
	coleo.EConflict:     http.StatusConflict,
	coleo.EThreadLocked: http.StatusConflict,
	coleo.EStale:        http.StatusConflict,
	coleo.EBusy:         http.StatusConflict,
	coleo.EBlocked:      http.StatusConflict,
	coleo.EUnrecognised: http.StatusConflict,
	coleo.EUnproven:     http.StatusConflict,
	coleo.EExited:       http.StatusGone,
	coleo.ENotInstalled: http.StatusFailedDependency,
	coleo.EUnsupported:  http.StatusNotImplemented,
	coleo.EPromptLost:   http.StatusBadGateway,
	coleo.EUnsettled:    http.StatusBadGateway,
	coleo.EUnavailable:  http.StatusServiceUnavailable,
	coleo.ETimeout:      http.StatusGatewayTimeout,
	coleo.EInternal:     http.StatusInternalServerError,

	coleo.ETurnAsks:        http.StatusConflict,
	coleo.ETurnFailed:      http.StatusConflict,
	coleo.ETurnInterrupted: http.StatusConflict,
	coleo.ETurnUnproven:    http.StatusConflict,
	coleo.EAnswerUnfit:     http.StatusConflict,
}

// failure is the body of every answer that reports an error.
type failure struct {
	Err    *coleo.Error `json:"error"`
	status int
}

func (f *failure) Error() string  { return f.Err.Message }
func (f *failure) GetStatus() int { return f.status }

// failureOf returns the body and the status of the answer that reports err.
func failureOf(err error) *failure {
	e := asError(err)
	status, ok := statusOf[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return &failure{Err: e, status: status}
}

func asError(err error) *coleo.Error {
	var e *coleo.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return coleo.Errorf(coleo.ETimeout, "it did not happen in time")
	case errors.Is(err, context.Canceled):
		return coleo.Errorf(coleo.EUnavailable, "the request was cancelled, or the server is stopping")
	}
	return coleo.Errorf(coleo.EInternal, "%w", err)
}

// writeError sends the answer that reports err. It is for code outside of the routes of huma, the HTTP layer, such
// as the check of a token.
func writeError(w http.ResponseWriter, err error) { writeFailure(w, failureOf(err)) }

func writeFailure(w http.ResponseWriter, f *failure) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f)
}

// sameBody makes the errors of huma, the HTTP layer, use the same body as all other errors. huma
// reports an error if a request does not match the description of its route.
func sameBody(ctx huma.Context, _ string, body any) (any, error) {
	m, ok := body.(*huma.ErrorModel)
	if !ok {
		return body, nil
	}
	ctx.SetHeader("Content-Type", "application/json")
	code := coleo.EInvalid
	if m.Status >= http.StatusInternalServerError {
		code = coleo.EInternal
	}
	message := describe(m)
	if m.Status == http.StatusUnsupportedMediaType {
		message = fmt.Sprintf("nothing was done, because the body has the content type %q: send JSON with the header "+
			"Content-Type: application/json", ctx.Header("Content-Type"))
	}
	return &failure{Err: coleo.Errorf(code, "%s", message), status: m.Status}, nil
}

func describe(m *huma.ErrorModel) string {
	parts := []string{}
	for _, d := range m.Errors {
		if d == nil {
			continue
		}
		if d.Location == "" {
			parts = append(parts, d.Message)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s", strings.TrimPrefix(d.Location, "body."), d.Message))
	}
	if len(parts) == 0 {
		return m.Detail
	}
	detail := m.Detail
	if detail == "validation failed" { // the message of huma
		detail = "nothing was done"
	}
	return detail + ": " + strings.Join(parts, "; ")
}
