package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/printable"
	"coleo.dev/wire"
)

// These constants limit a long poll. A client that wants to wait longer sends several polls. One
// very long request could fail, because software between client and server can end a silent
// request.
const (
	usualWait = 30 * time.Second
	maxWait   = 10 * time.Minute
)

// These constants are the headers of an answer with raw terminal output.
const (
	headerOffset = "Coleo-Offset" // the offset of the first byte
	headerNext   = "Coleo-Next"   // the offset after the last byte, where the next piece begins
	headerEnd    = "Coleo-End"    // "true" if the program has ended and all output has been read
	headerCols   = "Coleo-Cols"
	headerRows   = "Coleo-Rows"
)

type stateReply struct {
	Arm         string        `json:"arm"`
	State       coleo.State   `json:"state"`
	Rule        string        `json:"rule,omitempty"`
	Status      coleo.Status  `json:"status"`
	HasSession  bool          `json:"hasSession"`
	Distributed bool          `json:"distributed"`
	AgentID     string        `json:"agentId,omitempty"`
	Mode        string        `json:"mode,omitempty"`
	Labels      coleo.Labels  `json:"labels,omitempty"`
	Dialog      *coleo.Dialog `json:"dialog,omitempty"`
	Runtime     coleo.Runtime `json:"runtime"`
}

type waitInput struct {
	ID      string   `path:"id" doc:"Id or name of the arm"`
	State   []string `query:"state" required:"true" minItems:"1" doc:"States to wait for, separated by commas"`
	Timeout string   `query:"timeout" default:"30s" doc:"How long to wait, at most 10m"`
}

func (s *Server) lookRoutes(d table) {
	add(d, operation{get, "/api/arms/{id}/state", "arm-state", "Show what the arm's agent CLI is doing", 0}, s.state)
	add(d, operation{get, "/api/arms/{id}/display", "arm-display",
		"Show what the arm does, for people: state, tools, tasks, usage and the last text", 0}, do(s.brain.Display))
	add(d, operation{get, "/api/arms/{id}/explain", "explain-arm", "Explain the arm's state", 0},
		do(s.brain.Explain))
	add(d, operation{get, "/api/arms/{id}/usage", "arm-usage",
		"Show the tokens of the arm's conversation so far, as the agent CLI counts them", 0},
		do(s.brain.Usage))
	add(d, operation{get, "/api/arms/{id}/last", "last-run",
		"Show the arm's last run that has ended, with its answer", 0}, do(s.brain.LastRun))
	add(d, operation{get, "/api/arms/{id}/screen", "arm-screen",
		"Show the arm's screen, now or at an earlier time", 0}, s.screen)
	add(d, operation{get, "/api/arms/{id}/recording", "record-arm",
		"Read a piece of what the arm's terminal showed, with times and sizes", 0}, s.recording)
	add(d, operation{get, "/api/arms/{id}/wait", "wait-arm",
		"Wait until the arm has one of these states; 504 if that takes too long", 0}, s.wait)
	add(d, operation{get, "/api/arms/{id}/diff", "arm-diff",
		"Show what the arm has changed in its folder, as files and as a patch", 0}, s.diff)
	add(d, operation{get, "/api/arms/{id}/files", "arm-files",
		"List the files that the arm has changed, without a patch", 0}, s.files)
	add(d, operation{get, "/api/arms/{id}/checkpoints", "list-checkpoints", "List the checkpoints of the arm's files", 0},
		s.checkpoints)
	change(d, operation{post, "/api/arms/{id}/restore", "restore-files", "Restore the files of a checkpoint", 0},
		s.restore, wholeBody)
	change(d, operation{post, "/api/arms/{id}/merge", "merge-arm",
		"Merge the work of an arm with a worktree into another branch, or report what would happen", 0}, s.merge, mergeDetail)
	add(d, operation{get, "/api/runs/{run}/graph", "run-graph",
		"Show a run as a graph: turns, calls, approvals, files, and what led to what", 0}, s.graph)
	add(d, operation{get, "/api/why", "why", "Show which call of which run wrote a line of a file", 0}, s.why)
	s.outputRoute(d)
}

func (s *Server) state(ctx context.Context, in *armOnly) (*reply[stateReply], error) {
	arm, err := s.brain.Arm(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &reply[stateReply]{stateReply{
		Arm: arm.ID, State: arm.State, Rule: arm.Rule, Status: arm.Status, HasSession: arm.Runtime.HasSession,
		Distributed: arm.Runtime.Distributed, AgentID: arm.AgentID, Mode: arm.Mode, Labels: arm.Labels, Dialog: arm.Dialog,
		Runtime: arm.Runtime,
	}}, nil
}

func (s *Server) wait(ctx context.Context, in *waitInput) (*reply[wire.ArmReply], error) {
	states := make([]coleo.State, 0, len(in.State))
	for _, name := range in.State {
		state := coleo.State(name)
		if !state.Valid() {
			return nil, coleo.Errorf(coleo.EInvalid, "there is no state %q; the states are %s", name,
				printable.List(coleo.States()))
		}
		states = append(states, state)
	}
	limit, err := duration("timeout", in.Timeout)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	arm, err := s.brain.WaitArm(waiting, in.ID, states)
	if inTime(err) {
		return &reply[wire.ArmReply]{wire.ArmReply{Arm: arm}}, err
	}
	now, err := s.brain.Arm(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, coleo.Errorf(coleo.ETimeout, "%s did not become %s within %s; it is %s",
		now.Name, strings.Join(in.State, " or "), limit.Round(time.Millisecond), now.State)
}

// inTime returns false if err is a timeout. It returns true for any other error and for nil.
func inTime(err error) bool {
	return !errors.Is(err, context.DeadlineExceeded) && coleo.ErrorCode(err) != coleo.ETimeout
}

func duration(name, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, coleo.Errorf(coleo.EInvalid, "%s=%q is not a duration between 0s and %s, such as 30s", name, text,
			maxWait)
	}
	return d, nil
}

type outputInput struct {
	ID     string `path:"id" doc:"Id or name of the arm"`
	From   int64  `query:"from" doc:"Offset of the first byte; below 0: counted from the end"`
	Wait   string `query:"wait" default:"0s" doc:"How long to wait for output, at most 10m"`
	Accept string `header:"Accept" doc:"application/json for JSON with base64; raw bytes otherwise"`
}

type outputReply struct {
	Type string `header:"Content-Type"`
	Body func(huma.Context)
}

// outputRoute adds the route for terminal output. The description of this route is written by hand,
// because the answer is not always JSON.
func (s *Server) outputRoute(d huma.API) {
	schema := d.OpenAPI().Components.Schemas.Schema(outputType, true, "Output")
	huma.Register(d, huma.Operation{
		Method: get, Path: "/api/arms/{id}/output", OperationID: "arm-output", Tags: []string{"arms"},
		Summary: "Read terminal output from an offset on; raw bytes come with their offsets in Coleo-* headers",
		Responses: map[string]*huma.Response{
			"200": {Description: "A piece of output", Content: map[string]*huma.MediaType{
				"application/octet-stream": {}, "application/json": {Schema: schema},
			}},
			"default": {Description: "What went wrong", Content: map[string]*huma.MediaType{
				"application/json": {Schema: &huma.Schema{Ref: "#/components/schemas/Failure"}},
			}},
		},
	}, func(ctx context.Context, in *outputInput) (*outputReply, error) {
		out, err := s.output(ctx, in)
		if err != nil {
			return nil, failureOf(err)
		}
		return out, nil
	})
}

func (s *Server) output(ctx context.Context, in *outputInput) (*outputReply, error) {
	wait, err := duration("wait", in.Wait)
	if err != nil {
		return nil, err
	}
	piece, err := s.brain.Output(ctx, in.ID, in.From, wait)
	if err != nil {
		return nil, err
	}
	if strings.Contains(in.Accept, "application/json") {
		return &outputReply{Type: "application/json", Body: func(c huma.Context) {
			_ = json.NewEncoder(c.BodyWriter()).Encode(piece)
		}}, nil
	}
	return &outputReply{Type: "application/octet-stream", Body: func(c huma.Context) {
		c.SetHeader(headerOffset, strconv.FormatInt(piece.Offset, 10))
		c.SetHeader(headerNext, strconv.FormatInt(piece.Offset+int64(len(piece.Data)), 10))
		c.SetHeader(headerEnd, strconv.FormatBool(piece.End))
		c.SetHeader(headerCols, strconv.Itoa(piece.Cols))
		c.SetHeader(headerRows, strconv.Itoa(piece.Rows))
		c.SetStatus(http.StatusOK)
		_, _ = c.BodyWriter().Write(piece.Data)
	}}, nil
}

type diffInput struct {
	ID         string   `path:"id" doc:"Id or name of the arm"`
	Path       []string `query:"path,explode" doc:"Only this file or folder, relative to the arm's folder; repeatable"`
	Binary     bool     `query:"binary" doc:"Put binary files into the patch, so that git apply accepts it"`
	Why        bool     `query:"why" doc:"Add to each hunk which call of the arm made it"`
	Since      string   `query:"since" doc:"With wait: the mark of the diff that the caller has"`
	Wait       string   `query:"wait" default:"0s" doc:"How long to wait for a changed diff, at most 10m; Linux only"`
	Checkpoint int      `query:"checkpoint" minimum:"-1" default:"-1" doc:"Changes since the checkpoint before this one"`
}

// addFollow makes a request wait for a new diff. `since` is the mark (a kind of version) of the diff that the
// caller has. `text` is the time to wait, such as 30s. addFollow returns EInvalid if there is a mark but no time
// to wait.
func addFollow(w *changes.DiffRequest, since, text string) error {
	wait, err := duration("wait", text)
	if err == nil && since != "" && wait == 0 {
		err = coleo.Errorf(coleo.EInvalid, "since needs a wait above 0s, such as wait=30s")
	}
	w.Since, w.Wait = since, wait
	return err
}

func (in *diffInput) request() (changes.DiffRequest, error) {
	w := changes.DiffRequest{Paths: in.Path, Binary: in.Binary}
	if err := addFollow(&w, in.Since, in.Wait); err != nil {
		return w, err
	}
	if in.Checkpoint >= 0 {
		w.Checkpoint = &in.Checkpoint
		if w.Wait > 0 {
			return w, coleo.Errorf(coleo.EInvalid, "a checkpoint does not change: leave out wait")
		}
	}
	return w, nil
}

func (s *Server) diff(ctx context.Context, in *diffInput) (*reply[changes.Diff], error) {
	w, err := in.request()
	if err != nil {
		return nil, err
	}
	out, err := s.brain.Diff(ctx, in.ID, w, in.Why)
	return &reply[changes.Diff]{out}, err
}

type filesInput struct {
	ID    string   `path:"id" doc:"Id or name of the arm"`
	Path  []string `query:"path,explode" doc:"Only this file or folder, relative to the arm's folder; repeatable"`
	Since string   `query:"since" doc:"With wait: the mark of the diff that the caller has"`
	Wait  string   `query:"wait" default:"0s" doc:"How long to wait for a changed diff, at most 10m; Linux only"`
}

func (s *Server) files(ctx context.Context, in *filesInput) (*reply[changes.Diff], error) {
	w := changes.DiffRequest{Paths: in.Path, Stat: true}
	if err := addFollow(&w, in.Since, in.Wait); err != nil {
		return nil, err
	}
	out, err := s.brain.Diff(ctx, in.ID, w, false)
	return &reply[changes.Diff]{out}, err
}

func (s *Server) checkpoints(ctx context.Context, in *armOnly) (*reply[wire.CheckpointsReply], error) {
	out, err := s.brain.Checkpoints(ctx, in.ID)
	return &reply[wire.CheckpointsReply]{wire.CheckpointsReply{Checkpoints: list(out)}}, err
}

func (s *Server) restore(ctx context.Context, in *armBody[wire.RestoreBody]) (*reply[changes.Restored], error) {
	out, err := s.brain.Restore(ctx, in.ID, in.Body.Checkpoint)
	return &reply[changes.Restored]{out}, err
}

func (s *Server) merge(ctx context.Context, in *armBody[wire.MergeBody]) (*reply[changes.Merged], error) {
	out, err := s.brain.Merge(ctx, in.ID, in.Body.MergeRequest, callerWord(callerOf(ctx)), in.Body.AskArm)
	return &reply[changes.Merged]{out}, err
}

type screenInput struct {
	ID string `path:"id" doc:"Id or name of the arm"`
	At string `query:"at" doc:"A time as in RFC 3339; left out: now"`

	History int `query:"history" minimum:"0" maximum:"10000" doc:"Maximum number of lines that have scrolled off"`
}

type recordingInput struct {
	ID         string `path:"id" doc:"Id or name of the arm"`
	Generation int    `query:"generation" minimum:"0" doc:"Which of the arm's starts; left out or 0: the last"`
	From       int64  `query:"from" minimum:"0" doc:"Offset of the first byte of output; the last answer's next"`
}

func (s *Server) screen(ctx context.Context, in *screenInput) (*reply[coleo.Screen], error) {
	var at time.Time
	if in.At != "" {
		var err error
		if at, err = time.Parse(time.RFC3339Nano, in.At); err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "at=%q is not a time such as 2006-01-02T15:04:05Z", in.At)
		}
	}
	out, err := s.brain.Screen(ctx, in.ID, at, in.History)
	return &reply[coleo.Screen]{out}, err
}

func (s *Server) recording(ctx context.Context, in *recordingInput) (*reply[coleo.Recording], error) {
	out, err := s.brain.Record(ctx, in.ID, in.Generation, in.From)
	out.Events = list(out.Events)
	return &reply[coleo.Recording]{out}, err
}
