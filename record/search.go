package record

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Taken describes a prompt that an agent CLI has taken.
type Taken struct {
	Home   string    // HOME of the agent CLI
	Folder string    // the work folder; its path can contain symbolic links
	Since  time.Time // the prompt was taken at this time or later
	// Is reports whether a text in a record is the prompt.
	Is func(text string) bool
}

// SameFolder reports whether two paths lead to the same folder. An agent CLI records the real path of its work folder,
// although Coleo may have started it by a path with symbolic links.
func SameFolder(a, b string) bool { return a == b || a != "" && RealFolder(a) == RealFolder(b) }

// RealFolder returns the path of a folder without symbolic links. If the folder does not exist, it returns the path
// unchanged.
func RealFolder(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// mostSearched is the largest number of conversations that one search reads. The search reads only
// conversations that have changed since the prompt was typed, so there are usually only a few.
const mostSearched = 64

// WithPrompt returns the ids of the conversations that contain a prompt. It leaves out the
// conversations of subagents and of other folders, and skips a record that it cannot read. It
// returns an error if it cannot list the conversations, or if ctx ends.
func (c Conversations) WithPrompt(ctx context.Context, p Taken) ([]string, error) {
	if c.List == nil || c.Source.Open == nil {
		return nil, nil
	}
	found, err := c.List.Find(ctx, p.Home)
	if err != nil {
		return nil, err
	}
	var ids []string
	searched := 0
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if info, err := os.Stat(f.Path); err != nil || f.Name == "" && info.ModTime().Before(p.Since) {
			continue
		}
		if searched++; searched > mostSearched {
			break
		}
		if id := c.tookPrompt(f, p); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// tookPrompt returns the id of the conversation f if it contains the prompt, and "" otherwise.
func (c Conversations) tookPrompt(f Found, p Taken) (id string) {
	h, err := c.List.Header(p.Home, f)
	if err != nil || !SameFolder(h.Folder, p.Folder) || h.Hidden == HiddenSubagent || h.Last.Before(p.Since) {
		return ""
	}
	tail := c.Source.Open(f.Path, Where{Home: p.Home, Conversation: h.ID, Since: p.Since})
	defer tail.Close()
	if slices.ContainsFunc(tail.Next(), func(e Entry) bool {
		return (e.Kind == Prompt || e.Kind == Queued) && !e.Time.IsZero() && !e.Time.Before(p.Since) && p.Is(e.Text)
	}) {
		return h.ID
	}
	return ""
}
