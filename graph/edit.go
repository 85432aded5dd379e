package graph

import (
	"encoding/json"
	"slices"
	"strings"

	"coleo.dev"
)

// edit is a change of the file: the lines that the change adds and removes.
type edit struct{ added, removed []string }

// addsLine reports whether the edit wrote the line. A line that was already there before does not
// count.
func (e edit) addsLine(line string) bool { return count(e.added, line) > count(e.removed, line) }

func count(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

// These are the names of arguments in several agent CLIs.
var (
	contentNames = []string{"content", "file_text", "contents", "new_source"}
	oldNames     = []string{"old_string", "oldString", "old_str", "old_text", "oldText"}
	newNames     = []string{"new_string", "newString", "new_str", "new_text", "newText", "insert_text"}
	pathNames    = []string{"file_path", "filePath", "path", "absolute_path", "notebook_path"}
)

// beginPatch is a text that every patch contains.
const beginPatch = "*** Begin Patch"

// edits returns the changes that a call made to the file, according to the call's arguments.
func (s *search) edits(arm string, c coleo.ToolCall) []edit {
	if strings.Contains(c.Command, beginPatch) {
		return s.patch(arm, c.Command)
	}
	if c.Kind == coleo.ToolExecute || c.Kind == coleo.ToolRead {
		return nil
	}
	var text string
	if json.Unmarshal(c.Arguments, &text) == nil {
		return s.patch(arm, text)
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &args) != nil {
		return nil
	}
	for _, raw := range args {
		if json.Unmarshal(raw, &text) == nil && strings.Contains(text, beginPatch) {
			return s.patch(arm, text)
		}
	}
	return s.plain(arm, c, args)
}

// plain returns the edits of a call with named arguments. Each entry of the argument "edits" may
// have its own path.
func (s *search) plain(arm string, c coleo.ToolCall, args map[string]json.RawMessage) []edit {
	here := slices.ContainsFunc(c.Files, func(p string) bool { return s.Names(arm, p) })
	if p, ok := first(args, pathNames); ok {
		here = s.Names(arm, p)
	}
	var out []edit
	if here {
		if text, ok := first(args, contentNames); ok {
			out = append(out, edit{added: linesOf(text)})
		}
		out = append(out, replaceEdit(args)...)
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(args["edits"], &list) != nil {
		return out
	}
	for _, one := range list {
		in := here
		if p, ok := first(one, pathNames); ok {
			in = s.Names(arm, p)
		}
		if in {
			out = append(out, replaceEdit(one)...)
		}
	}
	return out
}

// replaceEdit returns the edit that replaces one text with another.
func replaceEdit(args map[string]json.RawMessage) []edit {
	text, ok := first(args, newNames)
	if !ok {
		return nil
	}
	before, _ := first(args, oldNames)
	return []edit{{linesOf(text), linesOf(before)}}
}

// first looks up the names in order, and returns the text of the first argument that it finds.
func first(args map[string]json.RawMessage, names []string) (string, bool) {
	for _, name := range names {
		var text string
		if raw, ok := args[name]; ok && json.Unmarshal(raw, &text) == nil {
			return text, true
		}
	}
	return "", false
}

// patch returns the edits of the file that a patch contains. A patch has a section for each file.
// It marks each line with a plus, a minus or a blank.
func (s *search) patch(arm, text string) []edit {
	var out []edit
	in := false
	for _, line := range linesOf(text) {
		if head, ok := strings.CutPrefix(line, "*** "); ok {
			kind, name, _ := strings.Cut(head, ": ")
			switch kind {
			case "Add File", "Update File", "Delete File":
				in = s.Names(arm, strings.TrimSpace(name))
			case "Move to":
				in = in || s.Names(arm, strings.TrimSpace(name))
			default:
				continue
			}
			if in && len(out) == 0 {
				out = append(out, edit{})
			}
			continue
		}
		if !in {
			continue
		}
		e := &out[len(out)-1]
		if added, ok := strings.CutPrefix(line, "+"); ok {
			e.added = append(e.added, added)
		} else if removed, ok := strings.CutPrefix(line, "-"); ok {
			e.removed = append(e.removed, removed)
		}
	}
	return out
}
