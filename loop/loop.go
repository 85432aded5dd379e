// Package loop finds out whether an agent CLI goes in circles in a run. An agent CLI goes in
// circles if it repeats the same call with the same result, or if its edits undo each other. The
// functions of this package are pure.
package loop

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	"coleo.dev"
)

// These constants say how much an agent CLI may repeat before it counts as going in circles. They also say how
// much of a run its State keeps.
const (
	// MaxSame is the default for how often the same call may have the same result with no edit in
	// between. An agent CLI that waits for a build makes the same call a few times.
	MaxSame = 10
	// maxBack is how often edits of the same place may go back and forth. An agent CLI may try
	// something, undo it and try it again, so one change of direction is not a circle yet.
	maxBack = 4
	// mostKept is the largest number of calls and edits in the State of one run. Each takes about
	// 30 bytes.
	mostKept = 2000
)

// State is what the package remembers of a run. The zero State belongs to a run that has just
// begun.
type State struct {
	open  map[string]coleo.ToolCall // the calls that have not ended, by id
	same  map[uint64]int            // how often a call had the same result since the last edit, by a hash of both
	files map[string]uint64         // the hash of the text that was last written to each file
	edits map[change]int            // each edit that was done and not undone, with the value 1
	back  map[change]int            // how often an edit was undone or redone; an edit and its reverse have the same key
}

// change is an edit that replaces one text with another. It contains hashes instead of the texts.
type change struct{ file, from, to uint64 }

// Next returns the state after w, the next piece of work in the run. It does not change s. If the
// run goes in circles, Next also returns the reason as one clause for people. Otherwise the reason
// is "". If maxSame is not 0, it replaces MaxSame.
func (s State) Next(w coleo.Work, maxSame int) (State, string) {
	if maxSame == 0 {
		maxSame = MaxSame
	}
	switch told := w.(type) {
	case coleo.ToolCall:
		s = s.clone()
		s.begin(told)
	case coleo.ToolEnd:
		s = s.clone()
		return s, s.end(told, maxSame)
	}
	return s, ""
}

// clone returns a copy of s that shares no map with s. It is cheap, because a run has few calls and
// each call takes much longer than a copy.
func (s State) clone() State {
	return State{open: maps.Clone(s.open), same: maps.Clone(s.same), files: maps.Clone(s.files),
		edits: maps.Clone(s.edits), back: maps.Clone(s.back)}
}

func (s *State) begin(c coleo.ToolCall) {
	if s.open == nil || len(s.same)+len(s.edits) > mostKept || len(s.open) > mostKept {
		*s = State{open: map[string]coleo.ToolCall{}, same: map[uint64]int{}, files: map[string]uint64{},
			edits: map[change]int{}, back: map[change]int{}}
	}
	s.open[c.ID] = c
}

func (s *State) end(e coleo.ToolEnd, most int) string {
	c, ok := s.open[e.ID]
	delete(s.open, e.ID)
	if !ok || c.Truncated || e.Truncated {
		// two calls or two results that look equal can differ in the parts that were cut off
		return ""
	}
	if c.Kind == coleo.ToolEdit && e.Outcome == coleo.ToolSuccess {
		changes := s.changesOf(c)
		// A file that is written again with its own text is not edited. Such a call counts like any other call.
		if len(changes) == 0 || changes[0].from != changes[0].to {
			clear(s.same) // after an edit, a call with the same result does not show that the run goes in circles
			return s.noteEdits(c, changes)
		}
	}
	arguments := string(c.Arguments)
	if c.Malformed != nil {
		arguments = c.Malformed.Raw
	}
	key := hash(c.Name, arguments, string(e.Outcome), e.Output, e.Reason)
	s.same[key]++
	if s.same[key] < most {
		return ""
	}
	return fmt.Sprintf("it has made the same call of %s with the same result %d times", c.Name, s.same[key])
}

// noteEdits records the changes of a successful call. It returns the reason if these changes show that
// the run goes in circles, and "" otherwise.
func (s *State) noteEdits(c coleo.ToolCall, changes []change) string {
	for _, one := range changes {
		reverse := change{one.file, one.to, one.from}
		pair := one
		if reverse.from < pair.from {
			pair = reverse
		}
		if s.edits[reverse] > 0 {
			s.back[pair]++
			delete(s.edits, reverse)
		}
		if s.edits[one] = 1; s.back[pair] >= maxBack {
			return fmt.Sprintf("its edits of %s have undone each other %d times", strings.Join(c.Files, ", "), s.back[pair])
		}
	}
	return ""
}

// changesOf returns the edit of a call, or nil if it is not known. An edit replaces one text with another, writes a
// whole file or applies a patch.
func (s *State) changesOf(c coleo.ToolCall) []change {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &args) != nil {
		return nil
	}
	text := func(names ...string) (string, bool) {
		for _, name := range names {
			var value string
			if raw, ok := args[name]; ok && json.Unmarshal(raw, &value) == nil {
				return value, true
			}
		}
		return "", false
	}
	files := strings.Join(c.Files, "\x00")
	was, replaces := text("old_string", "oldString", "old_str")
	now, replaced := text("new_string", "newString", "new_str")
	if replaces && replaced {
		return []change{{hash(files), hash(was), hash(now)}}
	}
	if content, ok := text("content", "file_text"); ok {
		before, known := s.files[files]
		if s.files[files] = hash(content); known {
			return []change{{hash(files), before, hash(content)}}
		}
		return nil
	}
	if patch, ok := text("patch", "patchText", "input"); ok {
		if one := changeOfPatch(files, patch); one.from != one.to { // a patch without lines deletes or renames a file
			return []change{one}
		}
	}
	return nil
}

// changeOfPatch returns a patch as one edit: the lines that the patch removes become the lines that
// it adds.
func changeOfPatch(files, patch string) change {
	var removed, added []string
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "-"):
			removed = append(removed, line[1:])
		case strings.HasPrefix(line, "+"):
			added = append(added, line[1:])
		}
	}
	return change{hash(files), hash(removed...), hash(added...)}
}

func hash(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		_, _ = h.Write([]byte(word)) // ignore the error, because a hash never returns one
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}
