package changes

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Each line of a checkpoint's commit message begins with one of these strings.
const (
	titleLine = "coleo: checkpoint: "
	timeLine  = "Time: "
	runLine   = "Run: "
	fromLine  = "From: "
	leftLine  = "Left: "
)

// Message returns the commit message of a checkpoint.
func Message(c Checkpoint) string {
	var b strings.Builder
	b.WriteString(titleLine + c.Reason + "\n\n" + timeLine + c.Time.UTC().Format(time.RFC3339) + "\n")
	if c.Run != "" {
		b.WriteString(runLine + c.Run + "\n")
	}
	if c.From != nil {
		b.WriteString(fromLine + strconv.Itoa(*c.From) + "\n")
	}
	for _, l := range c.Left {
		b.WriteString(leftLine + strconv.Quote(l.Name()) + " " + strconv.Quote(l.Why) + "\n")
	}
	return b.String()
}

// ReadMessage reads the commit message of a checkpoint. It returns false for any other
// message.
func ReadMessage(text string) (c Checkpoint, ok bool) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if rest, is := strings.CutPrefix(line, titleLine); is {
			c.Reason, ok = rest, true
		}
		if rest, is := strings.CutPrefix(line, timeLine); is {
			c.Time, _ = time.Parse(time.RFC3339, rest)
		}
		if rest, is := strings.CutPrefix(line, runLine); is {
			c.Run = rest
		}
		if rest, is := strings.CutPrefix(line, fromLine); is {
			if n, err := strconv.Atoi(rest); err == nil {
				c.From = &n
			}
		}
		if rest, is := strings.CutPrefix(line, leftLine); is {
			if l, read := readLeft(rest); read {
				c.Left = append(c.Left, l)
			}
		}
	}
	return c, ok
}

func readLeft(text string) (Left, bool) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return Left{}, false
	}
	name, nameErr := strconv.Unquote(quoted)
	why, whyErr := strconv.Unquote(strings.TrimPrefix(text[len(quoted):], " "))
	return LeaveOut(name, why), nameErr == nil && whyErr == nil
}

// Show returns a path for people, in one line. It quotes a path that contains control characters or
// is not UTF-8.
func Show(path string) string {
	if quoted := strconv.Quote(path); strings.ContainsAny(quoted, `\`) {
		return quoted
	}
	return path
}

// Title describes in a few words why a checkpoint was made.
func (c Checkpoint) Title() string {
	switch {
	case c.From != nil:
		return fmt.Sprintf("%s of %d", c.Reason, *c.From)
	case c.Reason == AtStart:
		return "before the arm started"
	case c.Reason == AfterTurn:
		return "after a turn"
	}
	return c.Reason
}
