package opencodeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// facts contains what the server has reported about the conversation so far.
type facts struct {
	known    bool   // the server has reported its state
	trouble  string // why Coleo cannot follow the server; "" if it can
	refused  bool   // true if the server refuses the password
	status   string // "idle", "busy" or "retry"
	attempt  int    // number of the attempt, if status is "retry"
	message  string // why the server tries again, if status is "retry"
	failed   string // how the last turn failed; "" if it did not fail
	busied   int    // how often the status has become busy
	failures int    // how many turns have failed
	events   int    // how many events have reported a status, or a request that was opened or closed
	resyncs  int    // how often Coleo has asked the server for its state
	tools    map[string]bool
	requests []openRequest // the open requests of all conversations, oldest first
}

// openRequest is a request of the server that waits for an answer: either one permission, or one or more
// questions. Each question is a separate dialog. Coleo shows the dialogs one after another, and answers the
// request when all of them are answered.
type openRequest struct {
	id       string
	question bool
	dialogs  []coleo.Dialog // one or more
	call     callOf         // the call that needs the permission; its CallID is "" if unknown
	// the answers so far, one for each dialog from the first one on; always fewer than `dialogs`, and empty in
	// a new session
	answers [][]string
}

// dialog returns the dialog that must be answered next.
func (a openRequest) dialog() coleo.Dialog { return a.dialogs[len(a.answers)] }

func newFacts() facts { return facts{tools: map[string]bool{}} }

// replace sets the facts to the server's present state. It keeps the old values of `busied`, `failed`,
// `failures` and `events`, because only events report them. It also keeps the answers that Coleo has not yet
// sent to the server.
func (f *facts) replace(now facts) {
	now.busied, now.failed, now.failures, now.events = f.busied, f.failed, f.failures, f.events
	now.resyncs = f.resyncs + 1
	for i := range now.requests {
		for _, was := range f.requests {
			if was.same(now.requests[i]) {
				now.requests[i].answers = was.answers // the server does not know these answers yet
			}
		}
	}
	if now.status != "idle" && f.status == "idle" {
		now.busied++
		now.failed = "" // another turn runs now
	}
	*f = now
}

// reading returns the state that follows from the facts.
func (f *facts) reading() coleo.Reading {
	r := coleo.Reading{State: coleo.Initializing, Rule: "connecting", Known: true}
	switch {
	case !f.known && f.trouble != "":
		r.State = coleo.Failed
	case !f.known:
	case len(f.requests) > 0:
		d := f.requests[0].dialog()
		r.State, r.Rule, r.Dialog = coleo.WaitingApproval, string(d.Kind)+".asked", &d
	case f.status == "retry":
		r.State, r.Rule, r.Detail = coleo.Processing, "session.status retry",
			fmt.Sprintf("attempt %d: %s", f.attempt, f.message)
	case f.status == "busy" && len(f.tools) > 0:
		r.State, r.Rule = coleo.Executing, "tool running"
	case f.status == "busy":
		r.State, r.Rule = coleo.Processing, "session.status busy"
	case f.failed != "":
		r.State, r.Rule, r.Detail = coleo.Failed, "session.error", f.failed
	default:
		r.State, r.Rule = coleo.Idle, "session.status idle"
	}
	if f.trouble != "" && r.State == coleo.Idle {
		r.State = coleo.Failed // a person may have begun a turn, and Coleo can send no prompt
	}
	switch {
	case f.trouble == "" || r.Detail != "":
	case f.refused:
		r.Rule, r.Detail = "server refuses the password", f.trouble
	default:
		r.Rule, r.Detail = "server cannot be followed", f.trouble
	}
	return r
}

// These are the JSON forms of the server's messages (1.18.33).
type (
	statusBody struct {
		Type    string `json:"type"`
		Attempt int    `json:"attempt"`
		Message string `json:"message"`
	}
	permissionBody struct {
		ID         string   `json:"id"`
		Permission string   `json:"permission"`
		Patterns   []string `json:"patterns"`
		Always     []string `json:"always"`
		Metadata   struct {
			Filepath string `json:"filepath"`
			Command  string `json:"command"`
		} `json:"metadata"`
		SessionID string `json:"sessionID"`
		Tool      callOf `json:"tool"`
	}
	questionBody struct {
		ID        string `json:"id"`
		Questions []struct {
			Question string `json:"question"`
			Multiple bool   `json:"multiple"` // the user can choose several options
			Options  []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	failure struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	}
)

// aborted is the error of a turn that somebody interrupted. Coleo does not treat such a turn as
// failed.
const aborted = "MessageAbortedError"

func (p permissionBody) request() openRequest {
	subject := strings.Join(p.Patterns, "\n")
	if p.Metadata.Command != "" {
		subject = p.Metadata.Command
	}
	call := p.Tool
	call.Session, call.Permission = p.SessionID, p.Permission
	title, titleCut := shortText("Permission required: " + p.Permission)
	subject, subjectCut := shortText(subject)
	return openRequest{id: p.ID, call: call, dialogs: []coleo.Dialog{{
		Kind: coleo.DialogPermission, Title: title, Subject: subject, Truncated: titleCut || subjectCut,
		Options: []string{"Allow once", "Allow always", "Reject"}, Default: -1, Fingerprint: requestFingerprint(p.ID, p),
	}}}
}

func (q questionBody) request() openRequest {
	a, fingerprint := openRequest{id: q.ID, question: true}, requestFingerprint(q.ID, q)
	if q.size() > mostQuestions {
		a.dialogs = []coleo.Dialog{{Kind: coleo.DialogQuestion, Title: "A question that is too long to be shown",
			Truncated: true, Default: -1, Fingerprint: fingerprint}}
		return a
	}
	for i, x := range q.Questions {
		d := coleo.Dialog{Kind: coleo.DialogQuestion, Title: x.Question, Default: -1, Several: x.Multiple,
			Fingerprint: coleo.Fingerprint(fmt.Sprintf("%s/%d", fingerprint, i+1))}
		if all := len(q.Questions); all > 1 {
			d.Subject = fmt.Sprintf("question %d of %d", i+1, all)
		}
		for _, o := range x.Options {
			d.Options = append(d.Options, o.Label)
		}
		a.dialogs = append(a.dialogs, d)
	}
	if len(a.dialogs) == 0 {
		a.dialogs = []coleo.Dialog{{Kind: coleo.DialogQuestion, Title: "A question without a text", Default: -1,
			Fingerprint: fingerprint}}
	}
	return a
}

// apply updates the facts after one event of the server. It returns true if the caller must ask the server
// for its present state. This is necessary if Coleo may have dropped a request. It is also necessary if a
// turn has ended while a request is open: if somebody aborts a turn, the server forgets the requests of the
// turn and sends no events about them.
func (s *Session) apply(e event) (askAgain bool) {
	var p struct {
		SessionID string          `json:"sessionID"`
		Status    statusBody      `json:"status"`
		Error     failure         `json:"error"`
		RequestID string          `json:"requestID"`
		ID        string          `json:"id"`
		Part      json.RawMessage `json:"part"`
		Info      json.RawMessage `json:"info"`
	}
	if json.Unmarshal(e.Properties, &p) != nil {
		return false
	}
	mine := p.SessionID == s.Handle().Conversation
	switch e.Type {
	case "session.status":
		s.update(func(f *facts) {
			if mine {
				f.applyStatus(p.Status)
			}
			askAgain = p.Status.Type == "idle" && len(f.requests) > 0
		})
	case "session.error":
		if mine && p.Error.Name != aborted {
			s.update(func(f *facts) {
				f.failed, _ = shortText(strings.TrimSpace(p.Error.Name + ": " + p.Error.Data.Message))
				f.failures++
			})
		}
	case "session.compacted":
		if mine { // the turn continues after the error that the conversation is too long
			s.update(func(f *facts) { f.failed = "" })
		}
	case "message.updated":
		s.takeMessage(p.SessionID, p.Info)
	case "message.part.updated":
		s.takePart(p.Part)
	case "permission.asked", "question.asked":
		s.onRequest(e)
	case "permission.replied", "question.replied", "question.rejected":
		id := p.RequestID
		if id == "" {
			id = p.ID
		}
		s.update(func(f *facts) {
			askAgain = len(f.requests) >= mostOpen // Coleo may have dropped a request
			f.drop(id)
		})
	}
	return askAgain
}

func (s *Session) onRequest(e event) {
	var a openRequest
	if strings.HasPrefix(e.Type, "question") {
		var q questionBody
		if json.Unmarshal(e.Properties, &q) != nil {
			return
		}
		a = q.request()
	} else {
		var p permissionBody
		if json.Unmarshal(e.Properties, &p) != nil {
			return
		}
		a = p.request()
	}
	s.update(func(f *facts) {
		f.drop(a.id)
		f.open(a)
	})
}

func (s *Session) takePart(raw json.RawMessage) {
	var part struct {
		Type      string `json:"type"`
		CallID    string `json:"callID"`
		MessageID string `json:"messageID"`
		Text      string `json:"text"`
		Synthetic bool   `json:"synthetic"`
		State     struct {
			Status string `json:"status"`
		} `json:"state"`
	}
	if json.Unmarshal(raw, &part) != nil {
		return
	}
	if part.Type == "text" && !part.Synthetic {
		s.mu.Lock()
		s.reportTurn(part.MessageID, part.Text)
		s.mu.Unlock()
	}
	s.update(func(f *facts) {
		if part.Type != "tool" {
			return
		}
		if part.State.Status != "running" {
			delete(f.tools, part.CallID)
		} else if len(f.tools) < mostOpen {
			f.tools[part.CallID] = true
		}
	})
}

func (f *facts) applyStatus(s statusBody) {
	f.known = true
	f.events++
	if s.Type != "idle" && (f.status == "idle" || f.status == "") {
		f.busied++
		f.failed = ""
	}
	f.status, f.attempt = s.Type, s.Attempt
	f.message, _ = shortText(s.Message)
	if s.Type == "idle" {
		f.tools = map[string]bool{}
	}
}

// open adds an open request. If too many are open, it drops the request. After the next answer to a request,
// apply returns true, so that Coleo asks the server for the dropped request.
func (f *facts) open(a openRequest) {
	if len(f.requests) < mostOpen {
		f.requests = append(f.requests, a)
	}
}

func (f *facts) drop(id string) {
	f.events++
	f.requests = slices.DeleteFunc(slices.Clone(f.requests), func(a openRequest) bool { return a.id == id })
}

// byID returns the open request with the given id, or nil if there is none.
func (f *facts) byID(id string) *openRequest {
	i := slices.IndexFunc(f.requests, func(a openRequest) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return &f.requests[i]
}

// copyAnswers copies the answers of the request `a` to the open request with the same id and content. It does
// nothing if the server no longer has that request.
func (f *facts) copyAnswers(a openRequest) {
	f.requests = slices.Clone(f.requests)
	if open := f.byID(a.id); open != nil && open.same(a) {
		open.answers = a.answers
	}
}

// askFacts asks the server for its present state.
func askFacts(ctx context.Context, srv *server, conversation string) (facts, error) {
	f := newFacts()
	f.known, f.status = true, "idle"
	var statuses map[string]statusBody
	var permissions []permissionBody
	var questions []questionBody
	for path, out := range map[string]any{"/session/status": &statuses, "/permission": &permissions,
		"/question": &questions} {
		if err := srv.do(ctx, "GET", path, nil, out); err != nil {
			return f, err
		}
	}
	if s, ok := statuses[conversation]; ok {
		f.applyStatus(s)
	}
	for _, p := range permissions {
		f.open(p.request())
	}
	for _, q := range questions {
		f.open(q.request())
	}
	return f, nil
}

// await waits until `ok` returns true for the facts, and reports whether it did. It stops waiting after the
// time `limit`, or when ctx or the session ends.
func (s *Session) await(ctx context.Context, limit time.Duration, ok func(facts) bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		hit, changed := ok(s.facts), s.changed
		s.mu.Unlock()
		if hit {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		case <-s.ctx.Done():
			return false
		}
	}
}
