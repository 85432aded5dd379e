package token

import (
	"reflect"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/wire"
)

// CheckSpawn returns EForbidden if a request to start an arm sets an option that no token can set. These options are:
//   - the commands, variables and servers of the agent CLI;
//   - the conversation;
//   - the permission modes "edit" and "all", in which the agent CLI does some things without asking.
//
// Otherwise a caller with a token could start an arm that does forbidden things without asking a person.
//
// The request must name a harness whose agent CLI asks before it acts. If the arm already exists, `known` is its row,
// and the request can omit the harness. Such an arm keeps its harness, its folder and its profile. A person gave it
// its permissions, variables and sandbox for these, and a sandbox shows the folder. For a new arm, `known` is nil.
func CheckSpawn(q wire.SpawnRequest, known *coleo.Arm, harnesses []coleo.Info) error {
	allowed := wire.SpawnRequest{
		Name: q.Name, Domain: q.Domain, Harness: q.Harness, Workdir: q.Workdir, Provider: q.Provider, Model: q.Model,
		Profile: q.Profile, PermissionMode: q.PermissionMode, Tools: q.Tools, NoTools: q.NoTools, Recover: q.Recover,
		InitialPrompt: q.InitialPrompt, ContextBudget: q.ContextBudget, AgentID: q.AgentID, PreferAgent: q.PreferAgent,
		Headless: q.Headless, OnPartition: q.OnPartition, OnLimit: q.OnLimit, EndWhenDone: q.EndWhenDone,
		Cols: q.Cols, Rows: q.Rows,
	}
	if err := checkSame(q, allowed); err != nil {
		return err
	}
	switch q.PermissionMode {
	case "", coleo.PermissionAsk, coleo.PermissionPlan:
	case coleo.PermissionEdit, coleo.PermissionAll:
		return refusal("permissionMode " + string(q.PermissionMode))
	}
	if err := checkOnLimit(q.OnLimit, known != nil, harnesses); err != nil {
		return err
	}
	switch {
	case known != nil && q.Workdir != "" && !worksIn(*known, q.Workdir):
		return refusal("that already exists another workdir")
	case known != nil && q.Profile != "":
		return refusal("that already exists a profile")
	case known != nil && q.Harness != "" && q.Harness != known.Harness:
		return refusal("that already exists another harness")
	case known != nil:
		return nil
	case q.Harness == "":
		return coleo.Errorf(coleo.EInvalid, "with an operator token, name the harness of a new arm; nothing was started")
	case !asksBeforeActing(q.Harness, harnesses):
		return refusal("the harness " + q.Harness + ", whose agent CLI does not ask before it acts")
	}
	return nil
}

// checkOnLimit checks `on`, the alternatives of an arm at a limit of its model. It returns EForbidden for a
// hand-over to a harness whose agent CLI does not ask before it acts. If `known` is true, the arm already exists.
// checkOnLimit then refuses every hand-over, because the successor would get the permissions and variables that a
// person gave the arm.
func checkOnLimit(on coleo.OnLimit, known bool, harnesses []coleo.Info) error {
	for _, step := range on.Steps() {
		switch {
		case step.Do != coleo.LimitHandover:
		case known:
			return refusal("a hand-over of an arm that already exists")
		case !asksBeforeActing(step.To, harnesses):
			return refusal("a successor of the harness " + step.To + ", whose agent CLI does not ask before it acts")
		}
	}
	return nil
}

// worksIn reports whether an arm works in a folder, or in a worktree that was made for this folder.
func worksIn(arm coleo.Arm, folder string) bool {
	made := arm.SpawnConfig().Worktree
	return folder == arm.Workdir || made != nil && folder == made.From
}

// asksBeforeActing reports whether the agent CLI of a harness asks before it acts. It returns false for an
// unknown harness.
func asksBeforeActing(name string, harnesses []coleo.Info) bool {
	return slices.ContainsFunc(harnesses, func(i coleo.Info) bool { return i.Name == name && i.Capabilities.Approval })
}

// CheckRecover returns EForbidden if a request to recover an arm sets an option that no token can
// set.
func CheckRecover(q wire.RecoverRequest) error {
	return checkSame(q, wire.RecoverRequest{Provider: q.Provider, Model: q.Model, AgentID: q.AgentID})
}

// checkSame returns EForbidden if a field of a request differs from the same field of `allowed`. If a field
// is added to requests later, checkSame refuses it until somebody adds it to `allowed`.
func checkSame[T any](q, allowed T) error {
	asked, may := reflect.ValueOf(q), reflect.ValueOf(allowed)
	for i := range asked.NumField() {
		if !reflect.DeepEqual(asked.Field(i).Interface(), may.Field(i).Interface()) {
			name, _, _ := strings.Cut(asked.Type().Field(i).Tag.Get("json"), ",")
			return refusal(name)
		}
	}
	return nil
}

func refusal(what string) error {
	return coleo.Errorf(coleo.EForbidden, "an operator token cannot give an arm %s: only a person does that; "+
		"nothing was done", what)
}
