package api

import (
	"bufio"
	"context"
	"net/http"
	"reflect"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/api/sse"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

// This file contains the routes for events, runs and the graph of a run.

var outputType = reflect.TypeFor[coleo.Output]()

// These constants are numbers of events or runs on one page.
const (
	usualEvents = 100
	maxEvents   = 1000
)

// EventsQuery contains the parameters that all event routes share. It is exported because huma
// reads only exported embedded types.
type EventsQuery struct {
	After  string   `query:"after" doc:"Cursor: the value of next in an earlier answer, or now"`
	From   string   `query:"from" doc:"The same as after"`
	Kind   []string `query:"kind" doc:"Only events of these kinds, separated by commas"`
	Limit  int      `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
	Follow bool     `query:"follow" doc:"If true, answer with server-sent events, as to Accept: text/event-stream"`
}

func (in EventsQuery) filter() wire.EventFilter {
	f := wire.EventFilter{After: in.After, Limit: in.Limit}
	if f.After == "" {
		f.After = in.From
	}
	for _, kind := range in.Kind {
		f.Kinds = append(f.Kinds, coleo.EventKind(kind))
	}
	return f
}

type allEventsInput struct {
	Arm string `query:"arm" doc:"Only events of this arm: id or name"`
	Run string `query:"run" doc:"Only events of this run"`
	EventsQuery
}

type armEventsInput struct {
	ID string `path:"id" doc:"Id or name of the arm"`
	EventsQuery
}

type runEventsInput struct {
	Run string `path:"run" doc:"Id of the run, which the receipt of the prompt contains, or a unique beginning of it"`
	EventsQuery
}

type runsInput struct {
	Arm     string        `query:"arm" doc:"Only runs of this arm: id or name"`
	Outcome coleo.Outcome `query:"outcome" doc:"Only runs with this outcome; open means that the run has not ended"`
	Since   time.Time     `query:"since" doc:"Only runs that began then or later"`
	Before  string        `query:"before" doc:"Cursor: the value of next in an earlier answer"`
	Limit   int           `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

type runInput struct {
	Run string `path:"run" doc:"Id of the run, or a unique beginning of it"`
}

type endInput struct {
	Run     string `path:"run" doc:"Id of the run, which the receipt of the prompt contains, or a unique beginning of it"`
	Timeout string `query:"timeout" default:"30s" doc:"How long to wait, at most 10m"`
}

func (s *Server) eventRoutes(d table) {
	add(d, operation{get, "/api/events", "events", "Read or follow the events of all arms", 0}, s.allEvents)
	add(d, operation{get, "/api/arms/{id}/events", "arm-events", "Read or follow an arm's events", 0}, s.armEvents)
	add(d, operation{get, "/api/runs", "list-runs", "List the runs, the newest first", 0}, s.listRuns)
	add(d, operation{get, "/api/runs/{run}", "get-run", "Read the summary of a run", 0}, s.getRun)
	add(d, operation{get, "/api/runs/{run}/events", "run-events", "Read or follow a run's events", 0}, s.runEvents)
	add(d, operation{get, "/api/runs/{run}/end", "run-end",
		"Wait for a run's end and its answer; 504 if that takes too long", 0}, s.runEnd)
}

func (s *Server) allEvents(ctx context.Context, in *allEventsInput) (*reply[wire.EventsReply], error) {
	f := in.filter()
	f.Arm, f.Run = in.Arm, in.Run
	return s.events(ctx, f)
}

func (s *Server) armEvents(ctx context.Context, in *armEventsInput) (*reply[wire.EventsReply], error) {
	f := in.filter()
	f.Arm = in.ID
	return s.events(ctx, f)
}

func (s *Server) runEvents(ctx context.Context, in *runEventsInput) (*reply[wire.EventsReply], error) {
	f := in.filter()
	f.Run = in.Run
	return s.events(ctx, f)
}

func (s *Server) events(ctx context.Context, f wire.EventFilter) (*reply[wire.EventsReply], error) {
	if f.Limit == 0 {
		f.Limit = usualEvents
	}
	events, next, err := s.brain.Events(ctx, f)
	return &reply[wire.EventsReply]{wire.EventsReply{Events: list(events), Next: next}}, err
}

// followEvents answers requests that want to receive new events as they happen. It passes all other
// requests to `next`.
func (s *Server) followEvents(next http.Handler) http.Handler {
	streams := http.NewServeMux()
	for _, path := range []string{"/api/events", "/api/arms/{id}/events", "/api/runs/{run}/events"} {
		streams.HandleFunc("GET "+path, s.stream)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wanted := strings.Contains(r.Header.Get("Accept"), sse.ContentType) || r.URL.Query().Get("follow") == "true"
		if _, pattern := streams.Handler(r); !wanted || pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		streams.ServeHTTP(w, r)
	})
}

// stream sends the events that match a request, and continues with new events as they happen. It ends when
// the client or the server ends the connection. If the client is slow, stream waits. Meanwhile the brain
// keeps no events in memory for the client, because the brain can read them from its log.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	f := EventsQuery{After: query.Get("after"), From: query.Get("from")}.filter()
	if kinds := query.Get("kind"); kinds != "" {
		for kind := range strings.SplitSeq(kinds, ",") {
			f.Kinds = append(f.Kinds, coleo.EventKind(kind))
		}
	}
	if last := r.Header.Get(sse.LastID); last != "" {
		f.After = last
	}
	if f.Arm, f.Run = r.PathValue("id"), r.PathValue("run"); f.Arm == "" && f.Run == "" {
		f.Arm, f.Run = query.Get("arm"), query.Get("run") // a page of the other two routes ignores these parameters too
	}
	// The brain restarts its interval after each event, also after one that the client has not asked for. With half
	// of the time, a sign of life still comes in time.
	interval := s.times.beat / 2
	news, err := s.brain.Follow(r.Context(), f, interval)
	if err != nil {
		writeError(w, err)
		return
	}
	control := http.NewResponseController(w)
	// interrupts a write that is in progress
	stop := context.AfterFunc(r.Context(), func() { _ = control.SetWriteDeadline(time.Now()) })
	defer stop()
	w.Header().Set("Content-Type", sse.ContentType)
	w.Header().Set("X-Accel-Buffering", "no") // this header tells a proxy to pass each event on at once
	out := bufio.NewWriterSize(w, ioBuffer)
	sent := time.Time{} // the time when `out` was last flushed
	for u := range news {
		if u.Event == nil && out.Buffered() == 0 && s.now().Sub(sent) < interval {
			continue
		}
		m := sse.Message{ID: u.Cursor}
		if u.Event != nil {
			m.Event = string(u.Event.Kind)
			if m.Data, err = u.EventJSON(); err != nil {
				return
			}
		}
		if sse.Write(out, m) != nil {
			return
		}
		if u.Event == nil { // u only says that no event is waiting now, so that `out` can be flushed
			if sent = s.now(); out.Flush() != nil || control.Flush() != nil {
				return
			}
		}
	}
}

func (s *Server) listRuns(ctx context.Context, in *runsInput) (*reply[wire.RunsReply], error) {
	if in.Limit == 0 {
		in.Limit = usualEvents
	}
	runs, next, err := s.brain.Runs(ctx, wire.RunFilter{Arm: in.Arm, Outcome: in.Outcome, Since: in.Since,
		Before: in.Before, Limit: in.Limit})
	return &reply[wire.RunsReply]{wire.RunsReply{Runs: list(runs), Next: next}}, err
}

func (s *Server) getRun(ctx context.Context, in *runInput) (*reply[wire.RunReply], error) {
	run, err := s.brain.FindRun(ctx, in.Run)
	return &reply[wire.RunReply]{wire.RunReply{Run: run}}, err
}

func (s *Server) runEnd(ctx context.Context, in *endInput) (*reply[wire.EndReply], error) {
	limit, err := duration("timeout", in.Timeout)
	if err != nil {
		return nil, err
	}
	run, err := s.wholeRun(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	end, err := s.brain.WaitRun(waiting, run)
	if !inTime(err) {
		return nil, coleo.Errorf(coleo.ETimeout, "run %s did not end within %s", in.Run, limit.Round(time.Millisecond))
	}
	return &reply[wire.EndReply]{wire.EndReply{End: end}}, err
}

// wholeRun returns the id of the run whose id begins with the given text. If there is no such run, it returns the
// text itself, because a queued prompt has an id before its run begins.
func (s *Server) wholeRun(ctx context.Context, id string) (string, error) {
	run, err := s.brain.FindRun(ctx, id)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return id, nil
	}
	return run.ID, err
}

type graphInput struct {
	Run string `path:"run" doc:"Id of the run, which the receipt of the prompt contains, or a unique beginning of it"`
}

type whyInput struct {
	Path []string `query:"path,explode" required:"true" minItems:"1" doc:"Absolute path of the file; repeat it for a path without symbolic links"` //nolint:lll // a tag has one line
	Line int      `query:"line" required:"true" minimum:"1" doc:"Number of the line, from 1"`
	Text string   `query:"text" doc:"The text of the line"`
}

func (s *Server) graph(ctx context.Context, in *graphInput) (*reply[graph.Document], error) {
	run, err := s.wholeRun(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	out, err := s.brain.Graph(ctx, run)
	return &reply[graph.Document]{out}, err
}

func (s *Server) why(ctx context.Context, in *whyInput) (*reply[graph.Answer], error) {
	out, err := s.brain.Why(ctx, wire.WhyQuestion{Paths: in.Path, Line: in.Line, Text: in.Text})
	return &reply[graph.Answer]{out}, err
}
