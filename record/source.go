package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Where says which record to read.
type Where struct {
	Home         string    // HOME of the agent CLI
	Conversation string    // the agent CLI's id of the conversation; "" if not yet known
	Since        time.Time // nobody needs entries that are older than this time
}

// Tail reads one record. It is not safe for concurrent use.
type Tail interface {
	// Next returns the entries that were written since the last call. If the record
	// cannot be read, Next returns nothing. The record may be readable again later.
	Next() []Entry
	Close()
}

// Source says how to find and read the record of one harness.
type Source struct {
	// Pattern is the record's path below Home, in the syntax of filepath.Match. {id}
	// stands for the id of the conversation. If several files match, the last file by
	// name is the record. Nothing is read until the conversation is known.
	Pattern string
	// ShortID is how many characters of the conversation's id are in the name. 0 means
	// all.
	ShortID int
	Open    func(path string, w Where) Tail
	// TellsReady is true if the agent CLI writes to a file of the pattern when its start is
	// over, and not earlier. The Follower then takes an entry of the kind Ready.
	TellsReady bool
}

// writtenAt returns when a file of the record was last written. It returns the zero time
// if no file was written since w.Since.
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

// Find returns the path of a record. It returns "" if there is no record yet, or if the
// conversation is not yet known.
func (s Source) Find(w Where) string {
	pattern := s.patternFor(w)
	if pattern == "" {
		return ""
	}
	found, _ := filepath.Glob(pattern) // the only possible error is a bad pattern
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// patternFor returns the whole pattern. It returns "" if the conversation is not yet
// known.
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

// quoted escapes a path, so that the result is a pattern that matches only this path.
func quoted(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// mostFolders bounds how many folders are watched for one record. Each folder costs
// about 1 kB of kernel memory, and a user may have worked in hundreds of folders.
const mostFolders = 64

// folders returns the folders to watch for a record that does not exist yet. The
// record, or a folder on the path to it, may appear in these folders. If a level has
// too many folders, only the last ones by name are kept.
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
