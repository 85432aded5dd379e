package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/cost"
	"coleo.dev/wire"
)

// providersPath and opencodePath are paths in the published API.
const (
	providersPath = "/api/opencode/providers"
	opencodePath  = "/api/opencode/health"
)

// httpHarnesses contains the harnesses that start an OpenCode server for each arm.
var httpHarnesses = []string{"opencode-api", "opencode-tui"}

// openCodeReply is the health of the OpenCode servers. The published API also describes the fields
// version and url, for one common server. openCodeReply leaves both out, because each arm has its
// own server, whose password only the arm's host agent knows.
type openCodeReply struct {
	Running bool             `json:"running" doc:"An arm with an OpenCode server runs"`
	Healthy bool             `json:"healthy" doc:"At least one such arm runs, and all of them are healthy"`
	Arms    []openCodeServer `json:"arms" doc:"The arms with an OpenCode server that run"`
}

type openCodeServer struct {
	ID      string       `json:"id"`
	Name    string       `json:"name"`
	Healthy bool         `json:"healthy"`
	State   coleo.Health `json:"state" doc:"The arm's health"`
	Reason  string       `json:"reason"`
}

func (s *Server) providerRoutes(d table) {
	add(d, operation{get, providersPath, "list-providers", "List providers with their models and prices", 0},
		s.providers)
	add(d, operation{get, "/api/models", "list-models",
		"List the models, how many arms have each, and to which agent CLIs a user is logged in", 0}, s.models)
	add(d, operation{get, "/api/cost", "cost", "Show what arms have cost, and how well that is known", 0}, s.cost)
	add(d, operation{get, opencodePath, "opencode-health", "Show whether the OpenCode servers of arms are healthy", 0},
		s.openCodeHealth)
}

func (s *Server) openCodeHealth(ctx context.Context, _ *nothing) (*reply[openCodeReply], error) {
	arms, err := s.brain.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	out := openCodeReply{Arms: []openCodeServer{}}
	for _, arm := range arms {
		if !slices.Contains(httpHarnesses, arm.Harness) || arm.Status == coleo.StatusStopped {
			continue
		}
		state := arm.Runtime.State
		fine := state == coleo.HealthStarting || state == coleo.HealthActive || state == coleo.HealthQuiet
		out.Healthy = fine && (out.Healthy || !out.Running)
		out.Running = true
		out.Arms = append(out.Arms, openCodeServer{arm.ID, arm.Name, fine, state, arm.Runtime.Reason})
	}
	return &reply[openCodeReply]{out}, nil
}

func (s *Server) providers(ctx context.Context, _ *nothing) (*reply[json.RawMessage], error) {
	raw, err := s.brain.Providers(ctx)
	return &reply[json.RawMessage]{raw}, err
}

func (s *Server) models(ctx context.Context, _ *nothing) (*reply[wire.Models], error) {
	out, err := s.brain.Models(ctx)
	return &reply[wire.Models]{out}, err
}

type costInput struct {
	Arm   string    `query:"arm" doc:"Only this arm"`
	By    string    `query:"by" doc:"arm, day, model, project, run or harness, separated by commas; arm if left out"`
	Since time.Time `query:"since" doc:"Only usage since this hour"`
}

func (s *Server) cost(ctx context.Context, in *costInput) (*reply[cost.Report], error) {
	by, err := cost.ParseKeys(in.By)
	if err != nil {
		return nil, err
	}
	out, err := s.brain.Cost(ctx, in.Arm, by, in.Since)
	return &reply[cost.Report]{out}, err
}
