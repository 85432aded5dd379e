package judge

import (
	"context"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/policy"
	"coleo.dev/policy/files"
	"coleo.dev/policy/reading"
	"coleo.dev/printable"
)

// Arm is the arm whose dialog is judged.
type Arm struct {
	ID     string
	Start  int    // the arm's generation
	Thread string // the agent CLI's id of the conversation; "" if unknown
	Config coleo.SpawnConfig
	// Environ returns the environment of the agent CLI.
	Environ func() ([]string, error)
	// Repositories returns the folders of the arm's repositories if the arm works in the folder
	// above them. It can be nil.
	Repositories func() ([]string, error)
}

// Decide applies the arm's policy to the approval dialog d of the session s. If a necessary fact is
// unknown, the decision is to ask, and Why names the fact. Decide returns EStale if the dialog is
// no longer open.
func Decide(ctx context.Context, rules files.Paths, a Arm, s coleo.Session, d coleo.Dialog) (coleo.PolicyDecision,
	error) {
	out := coleo.PolicyDecision{Dialog: d.Fingerprint, Title: d.Title, Mode: a.Config.Policy}
	out.Subject, out.SubjectCut = subjectOf(d.Subject)
	out.SubjectCut = out.SubjectCut || d.Truncated
	// Until the call is known, the request has no category, so no rule applies to it.
	request := policy.Request{Arm: a.ID, Start: a.Start, Thread: a.Thread, Cut: true, Now: time.Now()}
	asked, unknown := askedTool(ctx, s, d.Fingerprint)
	if coleo.ErrorCode(unknown) == coleo.EStale {
		return out, unknown
	}
	if unknown == nil {
		request.Tool, request.Category, request.Cut = asked.Tool, policy.Category(asked.Category), false
		request.Command, request.Files, request.Dir = asked.Command, asked.Files, asked.Folder
		out.Tool, out.Category, out.Folder = printable.Text(asked.Tool), asked.Category, printable.Text(asked.Folder)
		out.Subject, out.SubjectCut = subjectOf(strings.Join(append(commandOf(asked), asked.Files...), "\n"))
	}
	decision := decide(rules, a, request, asked.Shell, unknown)
	out.Decision, out.Rule, out.Why = string(decision.Verdict), decision.Rule, printable.Line(decision.Why)
	return out, nil
}

// decide decides about a request. `unknown` is nil, or names a fact about the request that is not
// known.
func decide(rules files.Paths, a Arm, q policy.Request, shell coleo.ShellRule, unknown error) policy.Decision {
	ask := func(why error) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: policy.DefaultRule, Why: why.Error()}
	}
	scopes, err := scopesOf(rules, a)
	if err != nil {
		return ask(err) // an unreadable rule could deny the call, so a person must decide
	}
	grants, err := rules.Grants(q.Now)
	if err != nil {
		return ask(err)
	}
	m, err := machineOf(a)
	if err == nil {
		q.Shadowed = reading.Shadowed(m.env["HOME"])
		if q.Category == policy.Execute {
			q.Shell, err = m.shell(shell)
		}
	}
	if unknown == nil {
		unknown = err
	}
	w, err := reading.NewWorkspace(a.Config.Workdir, m)
	if err != nil {
		return ask(err)
	}
	out := policy.Decide(scopes, files.ForDecide(grants), w, q)
	if unknown != nil && out.Verdict != policy.Deny {
		return ask(unknown)
	}
	return out
}

// scopesOf returns the rules for an arm. If the arm works in the folder above several repositories,
// they include the rules of each repository's project.
func scopesOf(rules files.Paths, a Arm) ([]policy.Scope, error) {
	scopes, err := rules.Scopes(a.Config.Workdir, policy.PresetRead)
	if err != nil || a.Repositories == nil {
		return scopes, err
	}
	folders, err := a.Repositories()
	for _, folder := range folders {
		if err != nil {
			break
		}
		var all []policy.Scope
		all, err = rules.Scopes(folder, policy.PresetRead)
		for _, scope := range all {
			if scope.Name == "project" {
				scopes = append(scopes, scope)
			}
		}
	}
	return scopes, err
}

// askedTool returns the call that the dialog asks about. It returns EUnsupported if the call is
// unknown.
func askedTool(ctx context.Context, s coleo.Session, dialog coleo.Fingerprint) (coleo.ToolRequest, error) {
	asker, ok := s.(coleo.ToolAsker)
	if !ok {
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "no hook reports the call that the dialog is about")
	}
	return asker.AskedTool(ctx, dialog)
}

func commandOf(q coleo.ToolRequest) []string {
	if q.Command == "" {
		return nil
	}
	return []string{q.Command}
}

// subjectOf returns a text that is short enough for the log. `cut` reports whether a part was left
// out.
func subjectOf(text string) (subject string, cut bool) {
	text = printable.Text(text)
	if len(text) <= coleo.MaxPolicySubject {
		return text, false
	}
	return strings.ToValidUTF8(text[:coleo.MaxPolicySubject], ""), true
}
