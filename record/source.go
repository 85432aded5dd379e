package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Where says whose record is wanted.
type Where struct {
	Home         string    // HOME of the agent CLI
	Conversation string    // the agent CLI's id of the conversation; "" while it is not known
	Since        time.Time // nobody needs entries from before that time
}

// Tail reads one record. It is not safe for concurrent use.
type Tail interface {
	// Next returns what was written since the last call. An error is the same as nothing
	// new: the record may be readable again later.
	Next() []Entry
	Close()
}

// Source is how the record of one harness is found and read.
type Source struct {
	// Pattern is the record's path below Home, as for filepath.Match. {id} stands for the
	// conversation. If several files match, the last one by name counts. Nothing is read
	// while the conversation is not known.
	Pattern string
	// ShortID is how many characters of the conversation's id are in the name; 0: all.
	ShortID int
	Open    func(path string, w Where) Tail
}

// Find returns the path of a record. It returns "" while there is none, or while the
// conversation is not known.
func (s Source) Find(w Where) string {
	pattern := s.patternFor(w)
	if pattern == "" {
		return ""
	}
	found, _ := filepath.Glob(pattern) // its only error is a bad pattern
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// patternFor returns the whole pattern, "" while the conversation is not known.
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

// quoted returns a path that matches itself in a pattern.
func quoted(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// mostFolders bounds how many folders are watched for one record. Each costs the kernel
// about 1 kB, and a user may have worked in hundreds of folders.
const mostFolders = 64

// folders returns the folders in which a record, or a folder on the way to it, may come
// into being. The newest ones by name are kept of each level.
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
