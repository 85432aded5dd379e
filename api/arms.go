package api

import (
	"context"
	"slices"

	"coleo.dev"
	"coleo.dev/api/token"
	"coleo.dev/armname"
	"coleo.dev/wire"
)

// This file contains the routes that list, start, recover, change, end and remove arms.

// armDelete is the request to remove an arm.
type armDelete struct {
	ID    string `path:"id" doc:"Id or name of the arm"`
	Force bool   `query:"force" doc:"Keep the unsaved work of the arm's worktree under a ref, instead of refusing"`
}

type spawnInput struct {
	Body wire.SpawnRequest
}

type armsInput struct {
	All      bool     `query:"includeAll" doc:"Also idle arms of the harness manual that have no task"`
	Selector []string `query:"selector" doc:"Only arms that meet all: KEY=VALUE, KEY!=VALUE, KEY or !KEY"`
}

func (s *Server) armRoutes(d table) {
	add(d, operation{get, "/api/arms", "list-arms", "List the arms with their health", 0}, s.listArms)
	change(d, operation{post, "/api/arms", "create-arm", "Create an arm and start it", 201}, s.createArm, createDetail)
	add(d, operation{get, "/api/arms/{id}", "get-arm", "Show one arm", 0}, s.getArm)
	change(d, operation{del, "/api/arms/{id}", "delete-arm", "Forget a stopped arm", 0}, s.deleteArm, deleteDetail)
	add(d, operation{get, "/api/arms/{id}/memo", "get-memo",
		"Show the arm's memo: the JSON value that is kept with it", 0}, do(s.brain.Memo))
	change(d, operation{put, "/api/arms/{id}/memo", "set-memo",
		"Replace the arm's memo; a value that does not fit its schema is refused", 0}, s.setMemo, memoDetail)
	change(d, operation{patch, "/api/arms/{id}/memo", "patch-memo", "Change a part of the arm's memo", 0},
		s.patchMemo, memoPatchDetail)
	change(d, operation{post, "/api/arms/{id}/spawn", "spawn-arm", "Start an arm, and create it if it is missing", 0},
		s.spawnArm, spawnDetail)
	change(d, operation{post, "/api/arms/{id}/recover", "recover-arm",
		"Recover an arm: reattach to its session, or start it again", 0}, s.recoverArm, wholeBody)
	change(d, operation{post, "/api/arms/{id}/rename", "rename-arm", "Rename an arm", 0},
		s.renameArm, wholeBody)
	add(d, operation{get, "/api/arms/{id}/budget", "arm-budget", "Show the budgets that apply to an arm", 0}, s.armBudget)
	change(d, operation{post, "/api/arms/{id}/budget", "set-arm-budget",
		"Change the budget of an arm (not with a token)", 0}, personOnly(s.setBudget), wholeBody)
	change(d, operation{post, "/api/arms/{id}/labels", "label-arm", "Change the labels of an arm (not with a token)", 0},
		personOnly(s.labelArm), wholeBody)
	change(d, operation{post, "/api/arms/{id}/kill", "kill-arm",
		"End an arm's agent CLI and all processes that it has started", 0}, s.killArm, onlyArm)
}

func (s *Server) listArms(ctx context.Context, in *armsInput) (*reply[wire.ArmsReply], error) {
	selector, err := coleo.ParseSelector(in.Selector)
	if err != nil {
		return nil, err
	}
	arms, err := s.brain.Arms(ctx, in.All)
	arms = slices.DeleteFunc(arms, func(a coleo.Arm) bool { return !selector.Selects(a.Labels) })
	return &reply[wire.ArmsReply]{wire.ArmsReply{Arms: list(arms)}}, err
}

func (s *Server) getArm(ctx context.Context, in *armOnly) (*reply[wire.ArmReply], error) {
	arm, err := s.brain.Arm(ctx, in.ID)
	return &reply[wire.ArmReply]{wire.ArmReply{Arm: arm}}, err
}

func (s *Server) deleteArm(ctx context.Context, in *armDelete) (*reply[wire.DeleteReply], error) {
	gone, err := s.brain.Remove(ctx, in.ID, in.Force)
	return &reply[wire.DeleteReply]{wire.DeleteReply{Deleted: err == nil, Removed: gone}}, err
}

func (s *Server) setMemo(ctx context.Context, in *armBody[wire.MemoBody]) (*reply[wire.Memo], error) {
	out, err := s.brain.SetMemo(ctx, in.ID, in.Body.Value)
	return &reply[wire.Memo]{out}, err
}

func (s *Server) patchMemo(ctx context.Context, in *armBody[wire.MemoPatch]) (*reply[wire.Memo], error) {
	out, err := s.brain.PatchMemo(ctx, in.ID, in.Body.Merge)
	return &reply[wire.Memo]{out}, err
}

func (s *Server) createArm(ctx context.Context, in *spawnInput) (*reply[wire.SpawnReply], error) {
	if err := requireName(in.Body); err != nil {
		return nil, err
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

// spawnArm starts the arm whose id or name is in the path. If the body also contains a name, it
// must be the name of the same arm.
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

// spawn starts an arm.
func (s *Server) spawn(ctx context.Context, r wire.SpawnRequest) (*reply[wire.SpawnReply], error) {
	if err := armname.Check(r.Name); err != nil {
		return nil, err
	}
	if err := s.boundStart(ctx, &r); err != nil {
		return nil, err
	}
	out, err := s.brain.Spawn(ctx, r)
	return &reply[wire.SpawnReply]{out}, err
}

// boundStart limits a request to start an arm if the caller has an operator token. It returns EForbidden if the
// request sets an option that such a caller must not set. A new arm gets no policy, because only a person can set it.
func (s *Server) boundStart(ctx context.Context, r *wire.SpawnRequest) error {
	if operatorOf(ctx) == nil {
		return nil
	}
	harnesses, err := s.brain.Harnesses(ctx)
	if err != nil {
		return err
	}
	var known *coleo.Arm
	arm, err := s.brain.Arm(ctx, r.Name)
	switch {
	case err == nil:
		known = &arm
	case coleo.ErrorCode(err) != coleo.ENotFound:
		return err
	}
	err = token.CheckSpawn(*r, known, harnesses)
	if known == nil {
		r.Policy = coleo.PolicyOff
	}
	return err
}

func (s *Server) recoverArm(ctx context.Context, in *armBody[*wire.RecoverRequest]) (*reply[wire.SpawnReply], error) {
	var r wire.RecoverRequest
	if in.Body != nil {
		r = *in.Body
	}
	if operatorOf(ctx) != nil {
		if err := token.CheckRecover(r); err != nil {
			return nil, err
		}
	}
	out, err := s.brain.Recover(ctx, in.ID, r)
	return &reply[wire.SpawnReply]{out}, err
}

func (s *Server) renameArm(ctx context.Context, in *armBody[wire.RenameBody]) (*reply[wire.ArmReply], error) {
	arm, err := s.brain.Rename(ctx, in.ID, in.Body.Name)
	return &reply[wire.ArmReply]{wire.ArmReply{Arm: arm}}, err
}

func (s *Server) labelArm(ctx context.Context, in *armBody[coleo.LabelChange]) (*reply[wire.ArmReply], error) {
	was, err := s.brain.Arm(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	arm, err := s.brain.Label(ctx, was.ID, in.Body)
	if err != nil {
		arm.Labels = nil // the labels may have changed even though the order failed, so nobody knows them
	}
	s.tokens.Relabelled(was.ID, in.Body, arm.Labels)
	return &reply[wire.ArmReply]{wire.ArmReply{Arm: arm}}, err
}

func (s *Server) armBudget(ctx context.Context, in *armOnly) (*reply[coleo.BudgetReport], error) {
	out, err := s.brain.Budget(ctx, in.ID, coleo.BudgetOrder{})
	return &reply[coleo.BudgetReport]{out}, err
}

func (s *Server) setBudget(ctx context.Context, in *armBody[coleo.Budget]) (*reply[coleo.BudgetReport], error) {
	out, err := s.brain.Budget(ctx, in.ID, coleo.BudgetOrder{Budget: &in.Body})
	return &reply[coleo.BudgetReport]{out}, err
}

func (s *Server) killArm(ctx context.Context, in *armOnly) (*reply[wire.KillReply], error) {
	arm, err := s.brain.Kill(ctx, in.ID)
	return &reply[wire.KillReply]{wire.KillReply{Killed: err == nil, Arm: arm}}, err
}

// list replaces a nil list with an empty one. JSON encodes a nil list as null, and clients in other
// languages could fail on null.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
