package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/armenv"
	"coleo.dev/wire"
)

// auditedText is the maximum length of a text in the audit, in bytes. 200 bytes are enough to
// recognize a prompt, and the event log contains the whole prompt.
const auditedText = 200

// short shortens a text that has more than auditedText bytes, and ends it with "…". It returns any other text
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

// auditPage is the number of records on a page if the request does not set a limit.
const auditPage = 100

// goesFirst contains the commands that are carried out even if the audit cannot be written. These
// commands end processes or free space, so a full disk must not stop them.
var goesFirst = map[string]bool{"kill-arm": true, "delete-arm": true, "interrupt-arm": true, "abort-arm": true}

// typesPrompt contains the commands that type a prompt. Their errors say whether the prompt was delivered.
var typesPrompt = map[string]bool{"prompt-arm": true, "steer-arm": true, "compact-arm": true}

// auditDetail returns the arm that a request names, or "" if the request names none. It also
// returns a value that describes the request. The audit stores this value as JSON.
type auditDetail[I any] func(*I) (arm string, detail any)

// withAudit wraps the function of a route that changes something. The wrapper first writes the caller
// and the request's detail into the audit. It then calls the route's function, and adds the
// function's result to the audit.
func withAudit[I, O any](s *Server, command string, f func(context.Context, *I) (*reply[O], error),
	detailOf auditDetail[I]) func(context.Context, *I) (*reply[O], error) {
	return func(ctx context.Context, in *I) (*reply[O], error) {
		arm, detail := detailOf(in)
		end, err := s.audit(ctx, command, arm, detail)
		if err != nil {
			var e *coleo.Error
			if typesPrompt[command] && errors.As(err, &e) {
				e.Delivered = new(bool) // false: the agent CLI has not received the prompt
			}
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

type auditInput struct {
	Arm    string `query:"arm" doc:"Only commands that named this arm"`
	Before int64  `query:"before" minimum:"0" doc:"Only commands older than the command with this id"`
	Limit  int    `query:"limit" minimum:"0" maximum:"1000" doc:"100 when left out"`
}

func (s *Server) auditRoutes(d table) {
	add(d, operation{get, "/api/audit", "list-audit", "List who gave which command, the newest first", 0}, s.listAudit)
}

func (s *Server) listAudit(ctx context.Context, in *auditInput) (*reply[wire.AuditReply], error) {
	if in.Limit == 0 {
		in.Limit = auditPage
	}
	out, err := s.brain.Audits(ctx, coleo.AuditFilter{Arm: in.Arm, Before: in.Before, Limit: in.Limit})
	return &reply[wire.AuditReply]{wire.AuditReply{Commands: list(out)}}, err
}

// Each function below is an auditDetail for one kind of request. A detail never contains a secret or typed
// keys. It contains only the first part of a long text.

// noDetail is for requests that need no detail, because the command's name already says everything.
func noDetail[I any](*I) (string, any) { return "", nil }

func onlyArm(in *armOnly) (string, any) { return in.ID, nil }

// wholeBody is for requests with a short body that contains no secrets.
func wholeBody[T any](in *armBody[T]) (string, any) { return in.ID, in.Body }

func deleteDetail(in *armDelete) (string, any) { return in.ID, map[string]bool{"force": in.Force} }

// startRecord is what the audit stores about a request to start an arm.
type startRecord struct {
	wire.SpawnRequest
	Env []string `json:"env,omitempty"` // the names of the variables; in the JSON, they replace SpawnRequest.Env
}

// startOf returns the detail of a request to start an arm. The detail contains only the first part
// of a long prompt or script. It does not contain the values of environment variables.
func startOf(q wire.SpawnRequest) startRecord {
	q.InitialPrompt, q.Script = short(q.InitialPrompt), short(q.Script)
	names := armenv.Names(q.Env)
	q.Env, q.MemoSchema = nil, nil // the record omits the values of variables, and a schema, which can be long
	q.MCPServers = slices.Clone(q.MCPServers)
	for i, m := range q.MCPServers {
		q.MCPServers[i].Env = make(map[string]string, len(m.Env))
		for name := range m.Env {
			q.MCPServers[i].Env[name] = ""
		}
	}
	return startRecord{SpawnRequest: q, Env: names}
}

func createDetail(in *spawnInput) (string, any) { return in.Body.Name, startOf(in.Body) }

func spawnDetail(in *armBody[*wire.SpawnRequest]) (string, any) {
	if in.Body == nil {
		return in.ID, nil
	}
	return in.ID, startOf(*in.Body)
}

func forkDetail(in *armBody[wire.SpawnRequest]) (string, any) {
	return in.ID, map[string]any{"start": startOf(in.Body)}
}

func cloneDetail(in *threadClone) (string, any) {
	return in.Body.Name, map[string]any{"harness": in.Harness, "thread": in.ID, "start": startOf(in.Body)}
}

// promptRecord is what the audit stores about a prompt.
type promptRecord struct {
	Begin     string `json:"begin"` // the first part of the prompt's text
	Bytes     int    `json:"bytes"` // the length of the prompt's whole text
	Interrupt bool   `json:"interrupt,omitempty"`
	Unproven  bool   `json:"unproven,omitempty"`

	Entry string   `json:"entry,omitempty"` // the id of a queued prompt that is changed
	Files []string `json:"files,omitempty"`
}

func promptOf(text string, files []string) promptRecord {
	return promptRecord{Begin: short(text), Bytes: len(text), Files: files}
}

func promptDetail(in *armBody[wire.PromptBody]) (string, any) {
	p := promptOf(in.Body.Prompt, in.Body.Files)
	p.Interrupt, p.Unproven = in.Body.Interrupt, in.Body.Unproven
	return in.ID, p
}

func steerDetail(in *armBody[wire.SteerBody]) (string, any) {
	p := promptOf(in.Body.Prompt, in.Body.Files)
	p.Interrupt = in.Body.Interrupt
	return in.ID, p
}

func followUpDetail(in *armBody[wire.AddBody]) (string, any) {
	return in.ID, promptOf(in.Body.Prompt, in.Body.Files)
}

func editDetail(in *entryBody) (string, any) {
	p := promptOf(in.Body.Prompt, in.Body.Files)
	p.Entry = in.Entry
	return in.ID, p
}

func entryDetail(in *entryOnly) (string, any) { return in.ID, map[string]string{"entry": in.Entry} }

func responseDetail(in *armBody[wire.RespondBody]) (string, any) {
	b := in.Body
	b.Lease, b.Words = "", short(b.Words)
	return in.ID, b
}

func armAnswerDetail(in *armBody[wire.SuspensionBody]) (string, any) {
	b := in.Body
	b.Text = short(b.Text)
	return in.ID, b
}

func answerDetail(in *suspensionInput) (string, any) {
	b := in.Body
	b.ID, b.Text = in.ID, short(b.Text)
	return "", b
}

func leaseDetail(in *armBody[wire.LeaseRequest]) (string, any) {
	return in.ID, map[string]any{"holder": short(in.Body.Holder), "release": in.Body.Release}
}

func inputDetail(in *armBody[wire.InputBody]) (string, any) {
	return in.ID, map[string]int{"bytes": max(len(in.Body.Data), len(in.Body.Text))}
}

func resizeDetail(in *armBody[wire.ResizeBody]) (string, any) {
	return in.ID, map[string]int{"cols": in.Body.Cols, "rows": in.Body.Rows}
}

func commentDetail(in *armBody[wire.CommentBody]) (string, any) {
	b := in.Body
	b.Text = short(b.Text)
	return in.ID, b
}

func mergeDetail(in *armBody[wire.MergeBody]) (string, any) {
	b := in.Body
	b.Commit, b.Message = short(b.Commit), short(b.Message)
	return in.ID, b
}

func memoDetail(in *armBody[wire.MemoBody]) (string, any) {
	return in.ID, map[string]int{"bytes": len(in.Body.Value)}
}

func memoPatchDetail(in *armBody[wire.MemoPatch]) (string, any) {
	return in.ID, map[string]int{"bytes": len(in.Body.Merge)}
}

func titleDetail(in *threadPatch) (string, any) {
	return "", map[string]string{"harness": in.Harness, "thread": in.ID, "title": short(in.Body.Title)}
}

func threadDetail(in *threadDelete) (string, any) {
	return "", map[string]any{"harness": in.Harness, "thread": in.ID, "file": in.File}
}

func newTokenDetail(in *tokenInput) (string, any) { return "", in.Body }

func tokenDetail(in *tokenOnly) (string, any) { return "", map[string]string{"token": in.Name} }

// newTriggerDetail stores only the first part of each argument.
func newTriggerDetail(in *triggerInput) (string, any) {
	q := in.Body
	q.Args = maps.Clone(q.Args)
	for name, value := range q.Args {
		q.Args[name] = short(value)
	}
	return "", q
}

func triggerDetail(in *triggerOnly) (string, any) { return "", map[string]string{"trigger": in.Name} }

func browserDetail(in *browserOnly) (string, any) { return "", map[string]string{"browser": in.ID} }
