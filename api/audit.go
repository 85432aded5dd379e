package api

import (
	"context"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/wire"
)

// auditedText is the maximum length of a text in the audit, in bytes. 200 bytes are enough to
// recognize a prompt. The event log contains the whole prompt.
const auditedText = 200

// auditPage is the number of records on a page if the request does not set a limit.
const auditPage = 100

// goesFirst contains the commands that are carried out even if the audit cannot be written. These
// commands end processes or free space, so a full disk must not stop them.
var goesFirst = map[string]bool{"kill-arm": true, "delete-arm": true, "interrupt-arm": true, "abort-arm": true}

// audited wraps the function of a route that changes something. The wrapper first writes the caller
// into the audit. Then it calls the route's function, and writes the function's result into the
// audit.
func audited[I, O any](s *Server, command string,
	f func(context.Context, *I) (*reply[O], error)) func(context.Context, *I) (*reply[O], error) {
	return func(ctx context.Context, in *I) (*reply[O], error) {
		arm, detail := auditOf(in)
		end, err := s.audit(ctx, command, arm, detail)
		if err != nil {
			return nil, err
		}
		out, err := f(ctx, in)
		end(err)
		return out, err
	}
}

// audit records a command before the command is carried out. After the command, the caller must
// call the returned function with the command's error.
func (s *Server) audit(ctx context.Context, command, arm string, detail any) (end func(error), err error) {
	a := coleo.Audit{Time: s.now().UTC(), Caller: callerOf(ctx), Command: command, Arm: arm}
	if detail != nil {
		if a.Detail, err = json.Marshal(detail); err != nil {
			return nil, coleo.Errorf(coleo.EInternal, "describe the command %s: %v", command, err)
		}
	}
	id, err := s.brain.BeginAudit(ctx, a)
	if err != nil {
		s.log.Error("record a command", "command", command, "arm", arm, "caller", a.Caller, "error", err)
		if !goesFirst[command] {
			return nil, coleo.Errorf(coleo.EInternal,
				"nothing was done, because the command could not be recorded: %v", err)
		}
		return func(error) {}, nil
	}
	return func(came error) {
		result, why := coleo.AuditDone, ""
		if came != nil {
			e := asError(came)
			result, why = coleo.AuditResult(e.Code), short(e.Message)
		}
		if err := s.brain.EndAudit(context.WithoutCancel(ctx), id, result, why); err != nil {
			s.log.Error("record the result of a command", "command", command, "arm", arm, "error", err)
		}
	}, nil
}

// auditOf returns the arm of a request, and the details of the request for the audit. The details
// contain no secrets and no typed keys. They contain only the first part of a long text.
func auditOf(in any) (arm string, detail any) {
	type prompt struct {
		Begin     string `json:"begin"`
		Bytes     int    `json:"bytes"`
		Interrupt bool   `json:"interrupt,omitempty"`
		Unproven  bool   `json:"unproven,omitempty"`

		Entry string   `json:"entry,omitempty"`
		Files []string `json:"files,omitempty"`
	}
	switch q := in.(type) {
	case *armOnly:
		return q.ID, nil
	case *armDelete:
		return q.ID, map[string]bool{"force": q.Force}
	case *spawnInput:
		return q.Body.Name, spawned(q.Body)
	case *armBody[*wire.SpawnRequest]:
		if q.Body == nil {
			return q.ID, nil
		}
		return q.ID, spawned(*q.Body)
	case *armBody[*wire.RecoverRequest]:
		return q.ID, q.Body
	case *armBody[*wire.WindowRequest]:
		return q.ID, q.Body
	case *armBody[promptBody]:
		return q.ID, prompt{short(q.Body.Prompt), len(q.Body.Prompt), q.Body.Interrupt, q.Body.Unproven, "", q.Body.Files}
	case *armBody[steerBody]:
		return q.ID, prompt{short(q.Body.Prompt), len(q.Body.Prompt), q.Body.Interrupt, false, "", q.Body.Files}
	case *armBody[addBody]:
		return q.ID, prompt{short(q.Body.Prompt), len(q.Body.Prompt), false, false, "", q.Body.Files}
	case *entryBody:
		return q.ID, prompt{short(q.Body.Prompt), len(q.Body.Prompt), false, false, q.Entry, q.Body.Files}
	case *entryOnly:
		return q.ID, map[string]string{"entry": q.Entry}
	case *armBody[moveBody]:
		return q.ID, q.Body
	case *armBody[*pauseBody]:
		return q.ID, q.Body
	case *armBody[respondBody]:
		b := q.Body
		b.Lease, b.Words = "", short(b.Words)
		return q.ID, b
	case *armBody[suspensionBody]:
		b := q.Body
		b.Text = short(b.Text)
		return q.ID, b
	case *suspensionInput:
		b := q.Body
		b.ID, b.Text = q.ID, short(b.Text)
		return "", b
	case *armBody[wire.LeaseRequest]:
		return q.ID, map[string]any{"holder": short(q.Body.Holder), "release": q.Body.Release}
	case *armBody[inputBody]:
		return q.ID, map[string]int{"bytes": max(len(q.Body.Data), len(q.Body.Text))}
	case *armBody[resizeBody]:
		return q.ID, map[string]int{"cols": q.Body.Cols, "rows": q.Body.Rows}
	case *armBody[renameBody]:
		return q.ID, q.Body
	case *armBody[commentBody]:
		b := q.Body
		b.Text = short(b.Text)
		return q.ID, b
	case *armBody[mergeBody]:
		b := q.Body
		b.Commit, b.Message = short(b.Commit), short(b.Message)
		return q.ID, b
	case *armBody[restoreBody]:
		return q.ID, q.Body
	case *armBody[coleo.LabelChange]:
		return q.ID, q.Body
	case *armBody[coleo.Budget]:
		return q.ID, q.Body
	case *armBody[onLimitBody]:
		return q.ID, q.Body
	case *threadPatch:
		return "", map[string]string{"harness": q.Harness, "thread": q.ID, "title": short(q.Body.Title)}
	case *threadDelete:
		return "", map[string]any{"harness": q.Harness, "thread": q.ID, "file": q.File}
	case *threadClone:
		return q.Body.Name, map[string]any{"harness": q.Harness, "thread": q.ID, "start": spawned(q.Body)}
	case *armBody[memoBody]:
		return q.ID, map[string]int{"bytes": len(q.Body.Value)}
	case *armBody[memoPatch]:
		return q.ID, map[string]int{"bytes": len(q.Body.Merge)}
	case *armBody[wire.SpawnRequest]:
		return q.ID, map[string]any{"start": spawned(q.Body)}
	case *armBody[wire.HandoverRequest]:
		return q.ID, q.Body
	case *armBody[threadSwitch]:
		return q.ID, q.Body
	case *armBody[modeBody]:
		return q.ID, q.Body
	case *armBody[modelBody]:
		return q.ID, q.Body
	case *tokenInput:
		return "", q.Body
	case *triggerInput:
		return "", triggered(q.Body)
	case *triggerOnly:
		return "", map[string]string{"trigger": q.Name}
	case *tokenOnly:
		return "", map[string]string{"token": q.Name}
	case *browserOnly:
		return "", map[string]string{"browser": q.ID}
	}
	return "", nil
}

// spawnDetail is what the audit stores about a request to start a new arm.
type spawnDetail struct {
	wire.SpawnRequest
	Env []string `json:"env,omitempty"` // only the names; this field hides the Env of SpawnRequest
}

// triggered returns the audit details of a request to make a schedule or a hook. They have only the
// first part of each argument.
func triggered(q wire.TriggerRequest) wire.TriggerRequest {
	q.Args = maps.Clone(q.Args)
	for name, value := range q.Args {
		q.Args[name] = short(value)
	}
	return q
}

// spawned returns the audit details of a request to start a new arm. The details contain only the
// first part of a long prompt or script. They do not contain the values of environment variables.
func spawned(q wire.SpawnRequest) spawnDetail {
	q.InitialPrompt, q.Script = short(q.InitialPrompt), short(q.Script)
	names := coleo.EnvNames(q.Env)
	q.Env, q.MemoSchema = nil, nil // a schema can be long
	return spawnDetail{SpawnRequest: q, Env: names}
}

// short cuts a text with more than auditedText bytes, and adds "…". It returns a shorter text
// unchanged.
func short(text string) string {
	if len(text) <= auditedText {
		return text
	}
	end := auditedText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

type auditInput struct {
	Arm    string `query:"arm" doc:"Only commands that named this arm"`
	Before int64  `query:"before" minimum:"0" doc:"Only commands older than the one with this id"`
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

type auditReply struct {
	Commands []coleo.Audit `json:"commands"` // newest first
}

func (s *Server) auditRoutes(d table) {
	add(d, operation{get, "/api/audit", "list-audit", "List who gave which command, the newest first", 0}, s.listAudit)
}

func (s *Server) listAudit(ctx context.Context, in *auditInput) (*reply[auditReply], error) {
	if in.Limit == 0 {
		in.Limit = auditPage
	}
	out, err := s.brain.Audits(ctx, coleo.AuditFilter{Arm: in.Arm, Before: in.Before, Limit: in.Limit})
	return &reply[auditReply]{auditReply{list(out)}}, err
}
