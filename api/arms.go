package api

import (
	"context"

	"coleo.dev"
	"coleo.dev/wire"
)

type armsReply struct {
	Arms []coleo.Arm `json:"arms"`
}

type armReply struct {
	Arm coleo.Arm `json:"arm"`
}

type killReply struct {
	Killed bool      `json:"killed"`
	Arm    coleo.Arm `json:"arm"`
}

type deleteReply struct {
	Deleted bool `json:"deleted"`
	Dropped int  `json:"dropped,omitempty" doc:"How many prompts were in the arm's queue"`
}

type renameBody struct {
	Name string `json:"name" minLength:"1" doc:"The new name"`
}

type spawnInput struct {
	Body wire.SpawnRequest
}

type armsInput struct {
	All bool `query:"includeAll" doc:"Also idle arms of the harness manual that have no task"`
}

func (s *Server) armRoutes(d table) {
	add(d, operation{get, "/api/arms", "list-arms", "List the arms with their health", 0}, s.listArms)
	add(d, operation{post, "/api/arms", "create-arm", "Make a new arm and start it", 201}, s.createArm)
	add(d, operation{get, "/api/arms/{id}", "get-arm", "Show one arm", 0}, s.getArm)
	add(d, operation{del, "/api/arms/{id}", "delete-arm", "Forget a stopped arm", 0}, s.deleteArm)
	add(d, operation{post, "/api/arms/{id}/spawn", "spawn-arm", "Start an arm; it is made when it is missing", 0},
		s.spawnArm)
	add(d, operation{post, "/api/arms/{id}/recover", "recover-arm", "Bring an arm back", 0}, s.recoverArm)
	add(d, operation{post, "/api/arms/{id}/rename", "rename-arm", "Give an arm another name", 0}, s.renameArm)
	add(d, operation{post, "/api/arms/{id}/kill", "kill-arm", "End an arm's agent CLI and all it started", 0},
		s.killArm)
}

func (s *Server) listArms(ctx context.Context, in *armsInput) (*reply[armsReply], error) {
	arms, err := s.brain.Arms(ctx, in.All)
	return &reply[armsReply]{armsReply{list(arms)}}, err
}

func (s *Server) getArm(ctx context.Context, in *armOnly) (*reply[armReply], error) {
	arm, err := s.brain.Arm(ctx, in.ID)
	return &reply[armReply]{armReply{arm}}, err
}

func (s *Server) deleteArm(ctx context.Context, in *armOnly) (*reply[deleteReply], error) {
	dropped, err := s.brain.Remove(ctx, in.ID)
	return &reply[deleteReply]{deleteReply{err == nil, dropped}}, err
}

func (s *Server) createArm(ctx context.Context, in *spawnInput) (*reply[wire.SpawnReply], error) {
	if in.Body.Name == "" {
		return nil, coleo.Errorf(coleo.EInvalid, "a new arm needs a name")
	}
	_, err := s.brain.Arm(ctx, in.Body.Name)
	if err == nil {
		return nil, coleo.Errorf(coleo.EConflict, "an arm called %q already exists", in.Body.Name)
	}
	if coleo.ErrorCode(err) != coleo.ENotFound {
		return nil, err
	}
	return s.spawn(ctx, in.Body)
}

// spawnArm starts the arm in the path. The path has the id of an existing arm, or the
// name of an arm. If the body also has a name, it must be the name of this arm.
func (s *Server) spawnArm(ctx context.Context, in *armBody[*wire.SpawnRequest]) (*reply[wire.SpawnReply], error) {
	var r wire.SpawnRequest
	if in.Body != nil {
		r = *in.Body
	}
	name := in.ID
	arm, err := s.brain.Arm(ctx, in.ID)
	switch {
	case err == nil:
		name = arm.Name
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return nil, err
	}
	if r.Name != "" && r.Name != name {
		return nil, coleo.Errorf(coleo.EInvalid, "the path names the arm %q, the body %q", name, r.Name)
	}
	r.Name = name
	return s.spawn(ctx, r)
}

func (s *Server) spawn(ctx context.Context, r wire.SpawnRequest) (*reply[wire.SpawnReply], error) {
	if err := coleo.CheckName(r.Name); err != nil {
		return nil, err
	}
	out, err := s.brain.Spawn(ctx, r)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) recoverArm(ctx context.Context, in *armBody[*wire.RecoverRequest]) (*reply[wire.SpawnReply], error) {
	var r wire.RecoverRequest
	if in.Body != nil {
		r = *in.Body
	}
	out, err := s.brain.Recover(ctx, in.ID, r)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) renameArm(ctx context.Context, in *armBody[renameBody]) (*reply[armReply], error) {
	arm, err := s.brain.Rename(ctx, in.ID, in.Body.Name)
	return &reply[armReply]{armReply{arm}}, err
}

func (s *Server) killArm(ctx context.Context, in *armOnly) (*reply[killReply], error) {
	arm, err := s.brain.Kill(ctx, in.ID)
	return &reply[killReply]{killReply{err == nil, arm}}, err
}

// list returns l, or an empty list if l is nil. JSON would have null for a nil list,
// and clients in other languages could fail on null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
