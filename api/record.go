package api

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"coleo.dev"
	"coleo.dev/graph"
	"coleo.dev/wire"
)

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

type graphInput struct {
	Run string `path:"run" doc:"Id of the run: of the receipt that a prompt got"`
}

type whyInput struct {
	Path []string `query:"path,explode" required:"true" minItems:"1" doc:"Absolute path of the file; repeat it for a path without symbolic links"`
	Line int      `query:"line" required:"true" minimum:"1" doc:"Number of the line, from 1"`
	Text string   `query:"text" doc:"The text of the line"`
}

func (s *Server) graph(ctx context.Context, in *graphInput) (*reply[graph.Document], error) {
	out, err := s.brain.Graph(ctx, in.Run)
	return &reply[graph.Document]{out}, err
}

func (s *Server) why(ctx context.Context, in *whyInput) (*reply[graph.Answer], error) {
	out, err := s.brain.Why(ctx, wire.WhyQuestion{Paths: in.Path, Line: in.Line, Text: in.Text})
	return &reply[graph.Answer]{out}, err
}

// Graph returns the graph of a run.
func (c *Client) Graph(ctx context.Context, run string) (graph.Document, error) {
	var out graph.Document
	err := c.call(ctx, get, "/api/runs/"+url.PathEscape(run)+"/graph", nil, &out)
	return out, err
}

// Why tells which call wrote a line of a file.
func (c *Client) Why(ctx context.Context, q wire.WhyQuestion) (graph.Answer, error) {
	var out graph.Answer
	asked := url.Values{"path": q.Paths, "line": {strconv.Itoa(q.Line)}, "text": {q.Text}}
	err := c.call(ctx, get, "/api/why?"+asked.Encode(), nil, &out)
	return out, err
}

// ScreenAt returns the arm's screen at the given time.
func (c *Client) ScreenAt(ctx context.Context, arm string, at time.Time) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, "/screen?at="+url.QueryEscape(at.UTC().Format(time.RFC3339Nano))), nil, &out)
	return out, err
}

// History returns the arm's present screen, or the last screen if the arm has ended.
// The screen includes at most the given number of lines that have scrolled off the top.
// The maximum is coleo.MostHistory.
func (c *Client) History(ctx context.Context, arm string, lines int) (coleo.Screen, error) {
	var out coleo.Screen
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/screen?history=%d", lines)), nil, &out)
	return out, err
}

// Record returns one piece of the recording of a generation of the arm. The piece
// begins at the byte offset from. Generation 0 means the newest generation. Offset 0
// means the oldest part of the recording that is still kept.
func (c *Client) Record(ctx context.Context, arm string, generation int, from int64) (coleo.Recording, error) {
	var out coleo.Recording
	err := c.call(ctx, get, armPath(arm, fmt.Sprintf("/recording?generation=%d&from=%d", generation, from)), nil, &out)
	return out, err
}
