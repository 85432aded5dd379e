package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"coleo.dev"
	"coleo.dev/trigger"
	"coleo.dev/wire"
)

// Triggers manages the schedules and webhooks of serve. Package trigger/runner describes its
// errors.
type Triggers interface {
	Enabled() bool
	List(ctx context.Context) ([]trigger.Trigger, error)
	Add(ctx context.Context, q wire.TriggerRequest) (wire.NewTrigger, error)
	Remove(ctx context.Context, name string) error
	RunNow(ctx context.Context, name string) (trigger.Entry, error)
	Deliver(ctx context.Context, name string, d trigger.Delivery) (trigger.Entry, error)
	History(ctx context.Context, name string, before int64, limit int) ([]trigger.Entry, error)
}

type triggerInput struct {
	Body wire.TriggerRequest
}

type triggerOnly struct {
	Name string `path:"name" doc:"Name of the schedule or webhook"`
}

type triggerHistoryInput struct {
	Trigger string `query:"trigger" doc:"Only entries of this schedule or webhook"`
	Before  int64  `query:"before" minimum:"0" doc:"Only entries older than the entry with this id"`
	Limit   int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

type removedReply struct {
	Removed bool `json:"removed"`
}

// triggerRoutes adds the routes for schedules and webhooks.
func (s *Server) triggerRoutes(d table) {
	add(d, operation{get, "/api/triggers", "list-triggers", "List the schedules and webhooks", 0}, s.listTriggers)
	change(d, operation{post, "/api/triggers", "add-trigger",
		"Make a schedule or a webhook; the answer has the secret of a webhook, once (not with a token)", http.StatusCreated},
		personOnly(s.addTrigger), newTriggerDetail)
	change(d, operation{del, "/api/triggers/{name}", "remove-trigger",
		"Remove a schedule or a webhook; its arms continue (not with a token)", 0},
		personOnly(s.removeTrigger), triggerDetail)
	change(d, operation{post, "/api/triggers/{name}/run", "run-trigger",
		"Start an arm of a schedule that is not due (not with a token)", http.StatusAccepted},
		personOnly(s.runTrigger), triggerDetail)
	add(d, operation{get, "/api/triggers/history", "list-trigger-history",
		"List runs of triggers, missed runs and refused requests, the newest first", 0}, s.triggerHistory)
}

func (s *Server) listTriggers(ctx context.Context, _ *struct{}) (*reply[wire.Triggers], error) {
	if s.triggers == nil {
		return &reply[wire.Triggers]{wire.Triggers{Triggers: list[trigger.Trigger](nil)}}, nil
	}
	all, err := s.triggers.List(ctx)
	return &reply[wire.Triggers]{wire.Triggers{Triggers: list(all), On: s.triggers.Enabled()}}, err
}

// errNoTriggers is the error if the server was started without triggers.
func errNoTriggers() error {
	return coleo.Errorf(coleo.EUnsupported, "this server has no schedules and no webhooks")
}

func (s *Server) addTrigger(ctx context.Context, in *triggerInput) (*reply[wire.NewTrigger], error) {
	if s.triggers == nil {
		return nil, errNoTriggers()
	}
	made, err := s.triggers.Add(ctx, in.Body)
	return &reply[wire.NewTrigger]{made}, err
}

func (s *Server) removeTrigger(ctx context.Context, in *triggerOnly) (*reply[removedReply], error) {
	if s.triggers == nil {
		return nil, errNoTriggers()
	}
	err := s.triggers.Remove(ctx, in.Name)
	return &reply[removedReply]{removedReply{err == nil}}, err
}

func (s *Server) runTrigger(ctx context.Context, in *triggerOnly) (*reply[trigger.Entry], error) {
	if s.triggers == nil {
		return nil, errNoTriggers()
	}
	e, err := s.triggers.RunNow(ctx, in.Name)
	return &reply[trigger.Entry]{e}, err
}

func (s *Server) triggerHistory(ctx context.Context,
	in *triggerHistoryInput) (*reply[wire.TriggerHistoryReply], error) {
	if s.triggers == nil {
		return nil, errNoTriggers()
	}
	if in.Limit == 0 {
		in.Limit = auditPage
	}
	entries, err := s.triggers.History(ctx, in.Trigger, in.Before, in.Limit)
	return &reply[wire.TriggerHistoryReply]{wire.TriggerHistoryReply{History: list(entries)}}, err
}

// isWebhook reports whether a request calls a webhook. Such a request is signed, and needs no
// token.
func isWebhook(r *http.Request) bool {
	return r.Method == post && strings.HasPrefix(r.URL.Path, "/hooks/")
}

// serveWebhook answers a request to a webhook.
func (s *Server) serveWebhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // this reads a limited size, because boundBodies has limited the body
	if err != nil {
		refuse(w, bodyError{err})
		return
	}
	if s.triggers == nil {
		writeError(w, errNoTriggers())
		return
	}
	e, err := s.triggers.Deliver(r.Context(), r.PathValue("name"), trigger.Delivery{
		Timestamp: r.Header.Get(trigger.HeaderTime), ID: r.Header.Get(trigger.HeaderID),
		Signature: r.Header.Get(trigger.HeaderSignature), Body: body})
	if err != nil {
		f := failureOf(err)
		switch {
		case f.Err.Code == coleo.EInvalid && len(body) > trigger.MaxBody:
			f.status = http.StatusRequestEntityTooLarge
		case f.Err.Code == coleo.EBusy:
			f.status = http.StatusTooManyRequests
		}
		writeFailure(w, f)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(e)
}
