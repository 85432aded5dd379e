package api

import (
	"context"
	"reflect"

	"coleo.dev"
	"coleo.dev/wire"
)

var outputType = reflect.TypeFor[coleo.Output]()

// Limits for a page of events.
const (
	usualEvents = 100
	maxEvents   = 1000
)

type eventsReply struct {
	Events []coleo.Event `json:"events"`
	Next   string        `json:"next"` // cursor after the last event; only an empty page means the end
}

type endReply struct {
	End coleo.RunEnd `json:"end"`
}

type armEventsInput struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	After string `query:"after" doc:"Cursor that an earlier answer gave as next"`
	Limit int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

type runEventsInput struct {
	Run   string `path:"run" doc:"Id of the run: of the receipt that a prompt got"`
	After string `query:"after" doc:"Cursor that an earlier answer gave as next"`
	Limit int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

type endInput struct {
	Run     string `path:"run" doc:"Id of the run: of the receipt that a prompt got"`
	Timeout string `query:"timeout" default:"30s" doc:"How long to wait, at most 10m"`
}

func (s *Server) eventRoutes(d table) {
	add(d, operation{get, "/api/arms/{id}/events", "arm-events", "Read an arm's events", 0}, s.armEvents)
	add(d, operation{get, "/api/runs/{run}/events", "run-events", "Read a run's events", 0}, s.runEvents)
	add(d, operation{get, "/api/runs/{run}/end", "run-end",
		"Wait for a run's end and its answer; 504 when it does not come in time", 0}, s.runEnd)
}

func (s *Server) armEvents(ctx context.Context, in *armEventsInput) (*reply[eventsReply], error) {
	return s.events(ctx, wire.EventFilter{Arm: in.ID, After: in.After, Limit: in.Limit})
}

func (s *Server) runEvents(ctx context.Context, in *runEventsInput) (*reply[eventsReply], error) {
	return s.events(ctx, wire.EventFilter{Run: in.Run, After: in.After, Limit: in.Limit})
}

func (s *Server) events(ctx context.Context, f wire.EventFilter) (*reply[eventsReply], error) {
	if f.Limit == 0 {
		f.Limit = usualEvents
	}
	events, next, err := s.brain.Events(ctx, f)
	return &reply[eventsReply]{eventsReply{list(events), next}}, err
}

func (s *Server) runEnd(ctx context.Context, in *endInput) (*reply[endReply], error) {
	limit, err := duration("timeout", in.Timeout)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	end, err := s.brain.WaitRun(waiting, in.Run)
	if !inTime(err) {
		return nil, coleo.Errorf(coleo.ETimeout, "run %s did not end within %s", in.Run, limit)
	}
	return &reply[endReply]{endReply{end}}, err
}
