package api

import (
	"context"

	"coleo.dev"
	"coleo.dev/wire"
)

type nothing struct{}

func (s *Server) fleetRoutes(d table) {
	add(d, operation{get, "/api/health", "health", "Check whether the server answers; needs no token", 0}, s.health)
	add(d, operation{get, "/api/status", "status", "Summarise arms and host agents", 0}, s.status)
	add(d, operation{get, "/api/agents", "list-hosts", "List the host agents", 0}, s.hosts)
	add(d, operation{get, "/api/harnesses", "list-harnesses", "List the harnesses", 0}, s.harnesses)
}

func (s *Server) health(context.Context, *nothing) (*reply[wire.HealthReply], error) {
	return &reply[wire.HealthReply]{wire.HealthReply{Status: "ok", Version: s.version}}, nil
}

func (s *Server) hosts(ctx context.Context, _ *nothing) (*reply[wire.HostsReply], error) {
	hosts, err := s.brain.Hosts(ctx)
	return &reply[wire.HostsReply]{wire.HostsReply{Agents: list(hosts)}}, err
}

func (s *Server) harnesses(ctx context.Context, _ *nothing) (*reply[wire.HarnessesReply], error) {
	infos, err := s.brain.Harnesses(ctx)
	return &reply[wire.HarnessesReply]{wire.HarnessesReply{Harnesses: list(infos)}}, err
}

func (s *Server) status(ctx context.Context, _ *nothing) (*reply[wire.Status], error) {
	arms, err := s.brain.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	hosts, err := s.brain.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	out := wire.Status{
		Version: s.version, StartedAt: s.started.UTC(), Arms: len(arms), Hosts: len(hosts),
		ByStatus: map[coleo.Status]int{}, ByHealth: map[coleo.Health]int{},
	}
	for _, arm := range arms {
		out.ByStatus[arm.Status]++
		out.ByHealth[arm.Runtime.State]++
		if arm.State == coleo.WaitingApproval || len(arm.Suspensions) > 0 {
			out.Waiting++
		}
	}
	for _, host := range hosts {
		if host.Live {
			out.LiveHosts++
		}
	}
	return &reply[wire.Status]{out}, nil
}
