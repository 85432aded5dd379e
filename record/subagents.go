package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/paths"
)

// Subagents describes where an agent CLI writes the records of a conversation's subagents. Coleo
// reads only the numbers of tokens in these records.
type Subagents struct {
	// Find prepares a search for one conversation. The parameter w names the conversation, and `path`
	// is the path of its own record. Find returns the function `look`. Each call of `look` returns:
	//   - the paths of the subagents' records that exist now;
	//   - the folders in which such records can appear, without the folder of the conversation's own
	//     record.
	Find func(path string, w Where) (look func() (records, folders []string))
	// Start returns a Decoder for the record at path.
	Start func(path string) Decoder
}

// SubagentsIn returns a function for Subagents.Find. This function finds the records that match a
// pattern. The pattern is a path below the folder of the conversation's own record. In the pattern,
// {id} stands for the id of the conversation.
func SubagentsIn(pattern string) func(path string, w Where) func() (records, folders []string) {
	return func(path string, w Where) func() ([]string, []string) {
		parts := strings.Split(strings.ReplaceAll(pattern, "{id}", w.Conversation), "/")
		var folders []string
		for i := 1; i < len(parts); i++ {
			folders = append(folders, filepath.Join(filepath.Dir(path), filepath.Join(parts[:i]...)))
		}
		last := filepath.Join(paths.Quote(folders[len(folders)-1]), parts[len(parts)-1])
		return func() ([]string, []string) {
			found, _ := filepath.Glob(last) // the only possible error is a bad pattern
			return found, folders
		}
	}
}

// Tokens returns a Decoder that passes on only the tokens that d reports, as tokens of a subagent.
func Tokens(d Decoder) Decoder { return tokensOnly{d} }

type tokensOnly struct{ Decoder }

// Decode returns the tokens in a line.
func (t tokensOnly) Decode(line []byte) (out []Entry) {
	for _, e := range t.Decoder.Decode(line) {
		if u, ok := e.Work.(coleo.ReplyUsage); ok {
			u.Subagent = true
			out = append(out, Entry{Kind: Detail, Work: u, Time: e.Time, Reply: e.Reply, Key: e.Reply})
		}
	}
	return out
}

// subagentRecords follows the records of a conversation's subagents.
type subagentRecords struct {
	source  Subagents
	since   time.Time
	find    func() (records, folders []string)
	tails   map[string]Tail
	records []string        // the paths of the records in the field `tails`, in the order in which they were found
	folders []string        // the folders in which records can appear
	exist   []string        // those paths in the field `folders` that exist
	counted map[string]bool // ids of the replies whose tokens were returned already
}

// subagentEntry is one entry of a subagent's record.
type subagentEntry struct {
	path string
	Entry
}

func newSubagentRecords(s Subagents, path string, w Where) *subagentRecords {
	b := &subagentRecords{source: s, since: w.Since, tails: map[string]Tail{}, counted: map[string]bool{}}
	if s.Find != nil {
		b.find = s.Find(path, w)
	}
	return b
}

// search looks for new records and folders, and reports whether the paths to watch have changed. If they
// have, the caller must watch the paths and then search again, because a record can appear just before
// its folder is watched.
func (b *subagentRecords) search() (changed bool) {
	if b.find == nil {
		return false
	}
	found, folders := b.find()
	for _, path := range found {
		if _, known := b.tails[path]; known || !writtenSince(path, b.since) {
			continue
		}
		b.tails[path] = Lines(func() Decoder { return Tokens(b.source.Start(path)) })(path, Where{})
		b.records = append(b.records, path)
		changed = true
	}
	exist := slices.DeleteFunc(slices.Clone(folders), func(path string) bool { return !isFolder(path) })
	changed = changed || !slices.Equal(folders, b.folders) || !slices.Equal(exist, b.exist)
	b.folders, b.exist = folders, exist
	return changed
}

func writtenSince(path string, since time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && !info.ModTime().Before(since)
}

// next returns the new entries of all records of subagents, by time. The parameter `own` contains the new
// entries of the conversation itself. An agent CLI can copy the conversation into the record of a
// subagent, so next leaves out replies that it has already seen.
func (b *subagentRecords) next(own []Entry) (out []subagentEntry) {
	if b.find == nil {
		return nil
	}
	for _, e := range own {
		if _, ok := e.Work.(coleo.ReplyUsage); ok && e.Reply != "" {
			b.counted[e.Reply] = true
		}
	}
	for _, path := range b.records {
		for _, e := range b.tails[path].Next() {
			if e.Reply != "" && b.counted[e.Reply] {
				continue
			}
			b.counted[e.Reply] = true
			out = append(out, subagentEntry{path, e})
		}
	}
	slices.SortStableFunc(out, func(x, y subagentEntry) int { return x.Time.Compare(y.Time) })
	return out
}

func (b *subagentRecords) close() {
	for _, t := range b.tails {
		t.Close()
	}
}

// places returns the files and folders that can change because a subagent works.
func (b *subagentRecords) places() []string { return append(slices.Clone(b.folders), b.records...) }
