package api

import (
	"context"
	"net/url"
	"strconv"

	"coleo.dev/graph"
	"coleo.dev/wire"
)

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
