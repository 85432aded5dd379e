package api

import (
	"context"
	"time"

	"coleo.dev"
)

type healthReply struct {
	Status  string `json:"status"` // always "ok"
	Version string `json:"version"`
}

type hostsReply struct {
	Agents []coleo.HostInfo `json:"agents"`
}

type harnessesReply struct {
	Harnesses []coleo.Info `json:"harnesses"`
}

// Status is a summary of the arms and host agents.
type Status struct {
	Version   string               `json:"version"`
	StartedAt time.Time            `json:"startedAt"`
	Arms      int                  `json:"arms"`
	ByStatus  map[coleo.Status]int `json:"byStatus"`
	ByHealth  map[coleo.Health]int `json:"byHealth"`
	Waiting   int                  `json:"waiting"` // the number of arms in waiting_approval
	Hosts     int                  `json:"agents"`  // the number of known host agents
	LiveHosts int                  `json:"liveAgents"`
}

type nothing struct{}

func (s *Server) fleetRoutes(d table) {
	add(d, operation{get, "/api/health", "health", "Check whether the server answers; needs no token", 0}, s.health)
	add(d, operation{get, "/api/status", "status", "Summarise arms and host agents", 0}, s.status)
	add(d, operation{get, "/api/agents", "list-hosts", "List the host agents", 0}, s.hosts)
	add(d, operation{get, "/api/harnesses", "list-harnesses", "List the harnesses", 0}, s.harnesses)
}

func (s *Server) health(context.Context, *nothing) (*reply[healthReply], error) {
	return &reply[healthReply]{healthReply{"ok", s.version}}, nil
}

func (s *Server) hosts(ctx context.Context, _ *nothing) (*reply[hostsReply], error) {
	hosts, err := s.brain.Hosts(ctx)
	return &reply[hostsReply]{hostsReply{list(hosts)}}, err
}

func (s *Server) harnesses(ctx context.Context, _ *nothing) (*reply[harnessesReply], error) {
	infos, err := s.brain.Harnesses(ctx)
	return &reply[harnessesReply]{harnessesReply{list(infos)}}, err
}

func (s *Server) status(ctx context.Context, _ *nothing) (*reply[Status], error) {
	arms, err := s.brain.Arms(ctx, true)
	if err != nil {
		return nil, err
	}
	hosts, err := s.brain.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	out := Status{
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
	return &reply[Status]{out}, nil
}
