package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Where says which record of an agent CLI to read.
type Where struct {
	Home         string    // HOME of the agent CLI
	Conversation string    // the agent CLI's id of the conversation; "" if it is not known yet
	Since        time.Time // older entries are not needed
}

// Tail reads one record while it grows. It is not safe for concurrent use.
type Tail interface {
	// Next returns the entries that have been written since the last call of Next. If the record
	// cannot be read, Next returns nil. A later call can then still succeed.
	Next() []Entry
	Close()
}

// Source says how to find and read the records of one harness.
type Source struct {
	// Pattern is the path of the record below Home, in the syntax of filepath.Match. In the path,
	// {id} stands for the id of the conversation. If several files match, the record is the last of
	// these files, sorted by name. Nothing is read until the id is known.
	Pattern string
	// ShortID is the number of characters at the beginning of the id for which {id} stands. If
	// ShortID is 0, {id} stands for the whole id.
	ShortID int
	Open    func(path string, w Where) Tail
	// ReportsReady is true if the agent CLI writes to a file that matches Pattern when its start is
	// over, and not earlier. After this write, the Follower passes on an entry of the kind Ready.
	ReportsReady bool
	// Subagents says where the records of subagents are. It is empty if there are none, or if the
	// record of the conversation reports the tokens of subagents too.
	Subagents Subagents
}

// writtenAt returns the time at which a file of the record was last written. It returns the zero
// time if no file was written since the time w.Since.
func (s Source) writtenAt(w Where) (last time.Time) {
	pattern := s.patternFor(w)
	if pattern == "" {
		return last
	}
	found, _ := filepath.Glob(pattern) // the only possible error is a bad pattern
	for _, path := range found {
		info, err := os.Stat(path)
		if err == nil && !info.ModTime().Before(w.Since) && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// Find returns the path of the record that w names. It returns "" if the record does
// not exist yet, or if the id of the conversation is not known yet.
func (s Source) Find(w Where) string {
	pattern := s.patternFor(w)
	if pattern == "" {
		return ""
	}
	found, _ := filepath.Glob(pattern) // only a bad pattern is an error
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// patternFor returns the pattern for the record that w names. It returns "" if the id
// of the conversation is not known yet.
func (s Source) patternFor(w Where) string {
	id := w.Conversation
	if s.ShortID > 0 && len(id) >= s.ShortID {
		id = id[:s.ShortID]
	}
	if id == "" || strings.ContainsAny(id, `*?[\/`) {
		return ""
	}
	return filepath.Join(quoted(w.Home), strings.ReplaceAll(s.Pattern, "{id}", id))
}

// quoted returns a pattern that matches only the given path.
func quoted(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// mostFolders limits the number of folders that are watched for one record. Each folder
// costs about 1 kB of kernel memory, and a user can have worked in hundreds of folders.
const mostFolders = 64

// folders returns the folders to watch until the record exists. The record, or a folder on the path
// to it, can appear in these folders. If one level of the path has too many folders, folders
// returns only the last ones of that level, sorted by name.
func (s Source) folders(w Where) []string {
	out := []string{w.Home}
	level := []string{w.Home}
	parts := strings.Split(filepath.Dir(s.Pattern), "/")
	for _, part := range parts {
		var next []string
		for _, dir := range level {
			found, _ := filepath.Glob(filepath.Join(quoted(dir), part))
			next = append(next, slices.DeleteFunc(found, func(p string) bool { return !isFolder(p) })...)
		}
		slices.Sort(next)
		level = next[max(0, len(next)-mostFolders/len(parts)):]
		out = append(out, level...)
	}
	return out
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
