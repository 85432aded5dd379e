package pull

import (
	"context"
	"fmt"
	"net/url"

	"coleo.dev/workspace/remote"
)

// Request is a pull request, or a merge request of GitLab.
type Request struct {
	Number int
	URL    string
	Merged bool
	Closed bool   // closed without a merge
	Commit string // the newest commit that the server knows
}

// New describes a pull request to make.
type New struct {
	Branch, Base, Title, Body string
	Draft                     bool
}

// forge is GitHub or GitLab.
type forge interface {
	// find returns the open request of a branch. Its number is 0 if there is none.
	find(ctx context.Context, branch string) (Request, error)
	create(ctx context.Context, n New) (Request, error)
}

func forgeOf(p program, at remote.Place) forge {
	if p.name == "glab" {
		return gitLab{p, "projects/" + url.PathEscape(at.Path) + "/merge_requests"}
	}
	return gitHub{p, at}
}

// gitLab finds and makes merge requests.
type gitLab struct {
	program  program
	requests string
}

type mergeRequest struct {
	Number int    `json:"iid"`
	URL    string `json:"web_url"`
}

func (g gitLab) find(ctx context.Context, branch string) (Request, error) {
	var list []mergeRequest
	err := g.program.api(ctx, g.requests+"?state=opened&source_branch="+url.QueryEscape(branch), nil, &list)
	if err != nil || len(list) == 0 {
		return Request{}, err
	}
	return Request{Number: list[0].Number, URL: list[0].URL}, nil
}

func (g gitLab) create(ctx context.Context, n New) (Request, error) {
	if n.Draft {
		n.Title = "Draft: " + n.Title // GitLab recognizes a draft by this prefix
	}
	var made mergeRequest
	err := g.program.api(ctx, g.requests, map[string]string{"source_branch": n.Branch, "target_branch": n.Base,
		"title": n.Title, "description": n.Body}, &made)
	if err == nil && made.Number == 0 {
		err = fmt.Errorf("the answer of glab contains no merge request")
	}
	return Request{Number: made.Number, URL: made.URL}, err
}

// gitHub finds, makes and reads pull requests.
type gitHub struct {
	program program
	at      remote.Place
}

type pullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
	State  string `json:"state"` // open or closed
	Merged bool   `json:"merged"`
	Head   struct {
		SHA string `json:"sha"`
	} `json:"head"`
}

func (r pullRequest) request() Request {
	return Request{Number: r.Number, URL: r.URL, Merged: r.Merged, Closed: r.State == "closed" && !r.Merged,
		Commit: r.Head.SHA}
}

// path returns the path of a resource of the repository in the API.
func (g gitHub) path(format string, args ...any) string {
	return "repos/" + g.at.Path + "/" + fmt.Sprintf(format, args...)
}

func (g gitHub) find(ctx context.Context, branch string) (Request, error) {
	var list []pullRequest
	err := g.program.api(ctx, g.path("pulls?state=open&head=%s", url.QueryEscape(g.at.Owner()+":"+branch)), nil, &list)
	if err != nil || len(list) == 0 {
		return Request{}, err
	}
	return list[0].request(), nil
}

func (g gitHub) create(ctx context.Context, n New) (Request, error) {
	var made pullRequest
	err := g.program.api(ctx, g.path("pulls"), map[string]any{"head": n.Branch, "base": n.Base, "title": n.Title,
		"body": n.Body, "draft": n.Draft}, &made)
	if err == nil && made.Number == 0 {
		err = fmt.Errorf("the answer of gh contains no pull request")
	}
	return made.request(), err
}

func (g gitHub) get(ctx context.Context, number int) (Request, error) {
	var r pullRequest
	err := g.program.api(ctx, g.path("pulls/%d", number), nil, &r)
	return r.request(), err
}
