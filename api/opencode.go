package api

import (
	"context"
	"encoding/json"
)

// providersPath is the path in the published API.
const providersPath = "/api/opencode/providers"

func (s *Server) providerRoutes(d table) {
	add(d, operation{get, providersPath, "list-providers", "List providers with their models and prices", 0},
		s.providers)
}

func (s *Server) providers(ctx context.Context, _ *nothing) (*reply[json.RawMessage], error) {
	raw, err := s.brain.Providers(ctx)
	return &reply[json.RawMessage]{raw}, err
}
