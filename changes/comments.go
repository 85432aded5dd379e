package changes

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// These constants bound one arm's comments. The agent CLI receives all comments in one prompt.
const (
	MaxComments = 100
	MaxComment  = 4 << 10 // size of one comment's text, in bytes
	// MaxCommentPrompt is the largest size of the prompt with all comments, in bytes.
	MaxCommentPrompt = 64 << 10
)

// Comment is a person's remark about a line that an arm has changed.
type Comment struct {
	Path string    `json:"path" minLength:"1" maxLength:"4096" doc:"The file, relative to the arm's folder"`
	Line int       `json:"line" minimum:"1" doc:"Number of the line, from 1"`
	Text string    `json:"text" minLength:"1" maxLength:"4096" doc:"The comment for the agent CLI"`
	Time time.Time `json:"time,omitzero"` // serve sets it
}

// AddComment returns `list` with c appended. It returns EInvalid if the comment lacks a file, a line or a
// text, or if its text is too long. It returns EConflict if the list would exceed a bound.
func AddComment(list []Comment, c Comment) ([]Comment, error) {
	c.Text = strings.TrimSpace(c.Text)
	switch {
	case c.Path == "" || c.Line < 1:
		return list, coleo.Errorf(coleo.EInvalid,
			"a comment names a file and a line from 1, such as main.go:12: nothing was stored")
	case c.Text == "":
		return list, coleo.Errorf(coleo.EInvalid, "a comment needs a text: nothing was stored")
	case len(c.Text) > MaxComment:
		return list, coleo.Errorf(coleo.EInvalid, "a comment has at most %d bytes: nothing was stored", MaxComment)
	case len(list) >= MaxComments:
		return list, coleo.Errorf(coleo.EConflict, "the arm has %d comments already: send them first; nothing was stored",
			MaxComments)
	}
	all := append(list[:len(list):len(list)], c)
	if len(CommentPrompt(all)) > MaxCommentPrompt {
		return list, coleo.Errorf(coleo.EConflict,
			"the comments of the arm would have more than %d kB: send them first; nothing was stored", MaxCommentPrompt>>10)
	}
	return all, nil
}

// CommentPrompt returns the prompt that contains all comments.
func CommentPrompt(list []Comment) string {
	var b strings.Builder
	b.WriteString("Comments on your changes. Please go through all of them:\n")
	for _, c := range list {
		fmt.Fprintf(&b, "\n%s:%d\n%s\n", Show(c.Path), c.Line, c.Text)
	}
	return b.String()
}

// Sent is the result of sending comments to an arm.
type Sent struct {
	Comments int           `json:"comments"` // how many comments were sent
	Receipt  coleo.Receipt `json:"receipt"`  // the receipt of the prompt that contains the comments
}
