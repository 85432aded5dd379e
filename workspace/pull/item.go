package pull

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Item is a failed check or a comment. Its texts come from other people and programs.
type Item struct {
	ID     string // the kind and the server's number, such as check:7
	Kind   string // check, review or comment
	Author string // author of a comment
	Place  string // FILE:LINE of a comment on a line; otherwise ""
	Name   string // name of a check
	Link   string
	Text   string // text of a comment, or the last lines of a check's log
	job    int64  // id of the job whose log belongs to the check; 0 if there is none
}

const (
	// pageSize and mostPages bound the lists. GitHub allows at most 100 entries per page.
	pageSize  = 100
	mostPages = 10
	// logTail is how much is read from the end of a log, in bytes.
	logTail = 32 << 10
)

// checks is the result of all checks of a commit.
type checks struct {
	failed          []Item
	running, passed int
}

type checkRun struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`     // "completed", or the status of a check that has not ended
	Conclusion string `json:"conclusion"` // "success", "failure" or another conclusion
	Link       string `json:"html_url"`
	App        struct {
		Slug string `json:"slug"`
	} `json:"app"`
	Output struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
}

// bad lists the conclusions and states that mean a failure.
var bad = []string{"failure", "timed_out", "startup_failure", "action_required", "error"}

// checks reads the check runs of a commit, and its statuses, which are GitHub's older kind of
// check.
func (g gitHub) checks(ctx context.Context, commit string) (c checks, err error) {
	for page := 1; page <= mostPages; page++ {
		var got struct {
			Runs []checkRun `json:"check_runs"`
		}
		if err := g.program.api(ctx, g.path("commits/%s/check-runs?per_page=%d&page=%d", commit, pageSize, page), nil,
			&got); err != nil {
			return c, err
		}
		for _, r := range got.Runs {
			c.add(r)
		}
		if len(got.Runs) < pageSize {
			break
		}
	}
	var old struct {
		Statuses []struct {
			ID      int64  `json:"id"`
			State   string `json:"state"`
			Context string `json:"context"`
			Link    string `json:"target_url"`
			Text    string `json:"description"`
		} `json:"statuses"`
	}
	err = g.program.api(ctx, g.path("commits/%s/status?per_page=%d", commit, pageSize), nil, &old)
	for _, s := range old.Statuses {
		switch {
		case s.State == "pending":
			c.running++
		case slices.Contains(bad, s.State):
			c.failed = append(c.failed, Item{ID: fmt.Sprintf("status:%d", s.ID), Kind: "check", Name: s.Context, Link: s.Link,
				Text: s.Text})
		default:
			c.passed++
		}
	}
	return c, err
}

func (c *checks) add(r checkRun) {
	switch {
	case r.Status != "completed":
		c.running++
	case slices.Contains(bad, r.Conclusion):
		i := Item{ID: fmt.Sprintf("check:%d", r.ID), Kind: "check", Name: r.Name, Link: r.Link,
			Text: strings.Join([]string{r.Output.Title, r.Output.Summary, r.Output.Text}, "\n")}
		if r.App.Slug == "github-actions" { // on GitHub Actions, a check and its job have the same id
			i.job = r.ID
		}
		c.failed = append(c.failed, i)
	default:
		c.passed++
	}
}

// readLog replaces the text of a failed check with the end of the check's log. If the log cannot be read, it
// keeps the text.
func (g gitHub) readLog(ctx context.Context, i *Item) {
	out, err := g.program.run(ctx, nil, logTail, "api", "--hostname", g.program.host,
		g.path("actions/jobs/%d/logs", i.job))
	if err == nil && len(strings.TrimSpace(string(out))) > 0 {
		i.Text = withoutTimes(string(out))
	}
}

// withoutTimes removes the time that GitHub puts at the beginning of each line of a log.
func withoutTimes(log string) string {
	const date = len("2006-01-02")
	all := strings.Split(log, "\n")
	for n, line := range all {
		if stamp, rest, ok := strings.Cut(line, "Z "); ok && len(stamp) > date+1 && stamp[date] == 'T' {
			all[n] = rest
		}
	}
	return strings.Join(all, "\n")
}

type comment struct {
	ID   int64 `json:"id"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
	Association string `json:"author_association"`
	Body        string `json:"body"`
	Link        string `json:"html_url"`
	Path        string `json:"path"`          // file of a comment on a line
	Line        int    `json:"line"`          // number of the line; 0 if the line no longer exists
	Original    int    `json:"original_line"` // number of the line when the comment was written
	State       string `json:"state"`         // state of a review
}

// mayWrite lists the associations that GitHub gives to authors with write access.
var mayWrite = []string{"OWNER", "MEMBER", "COLLABORATOR"}

// comments reads the comments on lines, the reviews and the other comments, in this order. If `anyAuthor` is false,
// it omits comments by authors without write access.
func (g gitHub) comments(ctx context.Context, number int, anyAuthor bool) (items []Item, err error) {
	for _, kind := range []struct{ path, id, word string }{
		{"pulls/%d/comments", "line:", "comment"}, {"pulls/%d/reviews", "review:", "review"},
		{"issues/%d/comments", "comment:", "comment"}} {
		for page := 1; page <= mostPages; page++ {
			var list []comment
			path := g.path(kind.path+"?per_page=%d&page=%d", number, pageSize, page)
			if err := g.program.api(ctx, path, nil, &list); err != nil {
				return nil, err
			}
			for _, c := range list {
				if c.isPublished() && (anyAuthor || slices.Contains(mayWrite, c.Association)) {
					items = append(items, c.item(kind.id, kind.word))
				}
			}
			if len(list) < pageSize {
				break
			}
		}
	}
	return items, nil
}

// isPublished reports whether a comment has a text and does not belong to an unfinished review.
func (c comment) isPublished() bool {
	return strings.TrimSpace(c.Body) != "" && c.State != "PENDING"
}

func (c comment) item(id, word string) Item {
	i := Item{ID: fmt.Sprintf("%s%d", id, c.ID), Kind: word, Author: c.User.Login, Link: c.Link, Text: c.Body}
	if c.Path != "" {
		i.Place = c.Path
		if line := cmp.Or(max(c.Line, 0), max(c.Original, 0)); line > 0 {
			i.Place = fmt.Sprintf("%s:%d", c.Path, line)
		}
	}
	return i
}
