package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev/paths"
)

// Where describes which record of an agent CLI is to be read.
type Where struct {
	Home         string    // HOME of the agent CLI
	Conversation string    // the agent CLI's id of the conversation; "" if it is not known yet
	Since        time.Time // the reader may leave out entries from before this time
}

// Tail reads one record while it grows. It is not safe for concurrent use.
type Tail interface {
	// Next returns the entries that have been written since the last call of Next. It returns nil
	// if the record cannot be read now; a later call may succeed.
	Next() []Entry
	Close()
}

// Source describes how to find and read the records of one harness.
type Source struct {
	// Pattern is the path of the record below Home, in the syntax of filepath.Match. In Pattern, {id}
	// stands for the id of the conversation. Until this id is known, nothing is read. If several files
	// match, the record is the file whose name sorts last.
	Pattern string
	// ShortID says how much of the id replaces {id}: the first ShortID characters, or the whole id if
	// ShortID is 0.
	ShortID int
	Open    func(path string, w Where) Tail
	// Folder is the beginning of Pattern for which the environment variable FolderEnv can name another folder, such
	// as ".codex". If Folder is "", the variable names a folder that replaces Home. If FolderEnv is "", no variable
	// does this.
	Folder, FolderEnv string
	// Named is the folder that FolderEnv names for this source; "" if it names none.
	Named string
	// ReportsReady is true if the agent CLI writes to files that match Pattern only after its
	// start is over. After the first such write, the Follower passes on an entry of the kind
	// Ready.
	ReportsReady bool
	// Subagents describes where the records of subagents are. It is empty if there are none, or if
	// the record of the conversation also reports the tokens of subagents.
	Subagents Subagents
}

// In returns the source of the records of an agent CLI for which the variable FolderEnv names the given folder. If
// the folder is "", the variable names none.
func (s Source) In(folder string) Source {
	s.Named = folder
	return s
}

// base returns the folder of the records, and the pattern of a record's path below it.
func (s Source) base(home string) (folder, pattern string) {
	if s.Named == "" {
		return home, s.Pattern
	}
	return s.Named, strings.TrimPrefix(strings.TrimPrefix(s.Pattern, s.Folder), "/")
}

// PathOf returns the path of another file of the agent CLI. `below` is the path of the file below home. If FolderEnv
// names a folder, a file of that folder is there.
func (s Source) PathOf(home, below string) string {
	rest, isInside := below, s.Folder == ""
	if !isInside {
		rest, isInside = strings.CutPrefix(below, s.Folder+"/")
	}
	if isInside && s.Named != "" {
		return filepath.Join(s.Named, rest)
	}
	return filepath.Join(home, below)
}

// All returns the paths of all records below home.
func (s Source) All(home string) ([]string, error) {
	folder, pattern := s.base(home)
	return filepath.Glob(filepath.Join(paths.Quote(folder), strings.ReplaceAll(pattern, "{id}", "*")))
}

// writtenAt returns the time at which a file of the record was last written. It returns the zero
// time if no file was written at w.Since or later.
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
	found, _ := filepath.Glob(pattern) // the only possible error is a bad pattern
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// patternFor returns the pattern for the record that w names. It returns "" if the id
// of the conversation is not known yet.
func (s Source) patternFor(w Where) string {
	id := s.idFor(w)
	if id == "" {
		return ""
	}
	folder, pattern := s.base(w.Home)
	return filepath.Join(paths.Quote(folder), strings.ReplaceAll(pattern, "{id}", id))
}

// idFor returns the text that replaces {id}. It returns "" if the id of the conversation is not known yet.
func (s Source) idFor(w Where) string {
	id := w.Conversation
	if s.ShortID > 0 && len(id) >= s.ShortID {
		id = id[:s.ShortID]
	}
	if strings.ContainsAny(id, `*?[\/`) {
		return ""
	}
	return id
}

// mostFolders is the largest number of folders that are watched for one record. There is a limit
// because a user can have worked in hundreds of folders, and each one costs about 1 kB of kernel
// memory.
const mostFolders = 64

// folders returns the folders in which the record, or a folder on the path to it, can appear. The
// caller watches them until the record exists. If one level of the path has too many folders,
// folders returns only the last ones of that level, sorted by name.
func (s Source) folders(w Where) []string {
	folder, pattern := s.base(w.Home)
	existing := folder // the agent CLI may still have to create the folder that a variable names
	for !isFolder(existing) && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
	}
	out := []string{existing}
	level := []string{folder}
	if id := s.idFor(w); id != "" {
		pattern = strings.ReplaceAll(pattern, "{id}", id)
	}
	parts := strings.Split(filepath.Dir(pattern), "/")
	for _, part := range parts {
		var next []string
		for _, dir := range level {
			found, _ := filepath.Glob(filepath.Join(paths.Quote(dir), part))
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
