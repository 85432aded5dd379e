package changes

import (
	"fmt"
	"strings"
	"time"

	"coleo.dev"
)

// The bounds of the comments of one arm. They go to the agent CLI as one prompt.
const (
	MaxComments = 100
	MaxComment  = 4 << 10 // bytes of the text of one
	// MaxCommentPrompt is the size of the largest prompt that has all of them, in bytes.
	MaxCommentPrompt = 64 << 10
)

// Comment is what a person says about a line that an arm has changed.
type Comment struct {
	Path string    `json:"path" minLength:"1" maxLength:"4096" doc:"The file, relative to the arm's folder"`
	Line int       `json:"line" minimum:"1" doc:"Number of the line, from 1"`
	Text string    `json:"text" minLength:"1" maxLength:"4096" doc:"What to tell the agent CLI"`
	Time time.Time `json:"time,omitzero"` // serve sets it
}

// AddComment returns a list with one more comment. It returns EInvalid if the comment is
// none, and EConflict if there are too many.
func AddComment(list []Comment, c Comment) ([]Comment, error) {
	c.Text = strings.TrimSpace(c.Text)
	switch {
	case c.Path == "" || c.Line < 1:
		return list, coleo.Errorf(coleo.EInvalid, "a comment names a file and a line from 1, such as main.go:12: nothing was stored")
	case c.Text == "":
		return list, coleo.Errorf(coleo.EInvalid, "a comment needs a text: nothing was stored")
	case len(c.Text) > MaxComment:
		return list, coleo.Errorf(coleo.EInvalid, "a comment has at most %d bytes: nothing was stored", MaxComment)
	case len(list) >= MaxComments:
		return list, coleo.Errorf(coleo.EConflict, "the arm has %d comments already: send them first; nothing was stored", MaxComments)
	}
	all := append(list[:len(list):len(list)], c)
	if len(CommentPrompt(all)) > MaxCommentPrompt {
		return list, coleo.Errorf(coleo.EConflict, "the comments of the arm would have more than %d kB: send them first; nothing was stored",
			MaxCommentPrompt>>10)
	}
	return all, nil
}

// CommentPrompt returns the prompt that has all comments.
func CommentPrompt(list []Comment) string {
	var b strings.Builder
	b.WriteString("Comments on your changes. Please go through all of them:\n")
	for _, c := range list {
		fmt.Fprintf(&b, "\n%s:%d\n%s\n", Show(c.Path), c.Line, c.Text)
	}
	return b.String()
}

// Sent says what became of comments that were to be sent.
type Sent struct {
	Comments int           `json:"comments"` // how many were sent
	Receipt  coleo.Receipt `json:"receipt"`  // of the prompt
}
