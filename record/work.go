package record

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"coleo.dev"
)

// Worked returns an entry that contains only the work w.
func Worked(w coleo.Work, reply string, at time.Time) Entry {
	return Entry{Kind: Detail, Work: w, Reply: reply, Time: at}
}

// ByModel sets the model of each entry that belongs to a reply, and returns the entries.
func ByModel(work []Entry, model string) []Entry {
	for i := range work {
		if work[i].Reply != "" {
			work[i].Model = model
		}
	}
	return work
}

// Join merges two lists of entries from the same line of a record: entries about the agent CLI's
// state, and entries of work. Join puts an item of work into the next entry of state about the same
// thing, such as a tool call. If there is no such entry, the item stays a separate entry. Both lists
// keep their order.
func Join(state, work []Entry) []Entry {
	out := make([]Entry, 0, len(state)+len(work))
	i := 0
	for _, w := range work {
		j := i
		for kind := kindWith(w.Work); j < len(state) && (state[j].Kind != kind || state[j].Work != nil); j++ {
		}
		if j < len(state) {
			out = append(out, state[i:j+1]...)
			last := &out[len(out)-1]
			last.Work, last.Reply, last.Model = w.Work, w.Reply, w.Model
			i = j + 1
			continue
		}
		for ; i < len(state) && state[i].Kind == Prompt; i++ { // the prompt must come before the work that it begins
			out = append(out, state[i])
		}
		out = append(out, w)
	}
	return append(out, state[i:]...)
}

// kindWith returns the kind of the entries that can contain the work w, or "" if no kind can.
func kindWith(w coleo.Work) Kind {
	switch w.(type) {
	case coleo.AssistantText:
		return Answer
	case coleo.ToolCall, coleo.ToolEnd:
		return Tool
	}
	return ""
}

// Whole returns a block with a text that the model has finished.
func Whole(text string) coleo.Block {
	short, cut := coleo.CutWork(text)
	return coleo.Block{Text: short, Done: true, Truncated: cut}
}

// Call returns the call of a tool whose arguments should be JSON. An empty text means that the call
// has no arguments. Call finds the command and the files in the arguments by their usual names.
func Call(id, name string, kind coleo.ToolKind, arguments string) coleo.ToolCall {
	c := coleo.ToolCall{ID: id, Name: name, Kind: kind}
	var any json.RawMessage
	if arguments != "" && json.Unmarshal([]byte(arguments), &any) != nil {
		return MalformedCall(id, name, kind, arguments)
	}
	if c.Truncated = len(any) > coleo.MaxWorkText; !c.Truncated {
		c.Arguments = any
	}
	var named map[string]json.RawMessage
	_ = json.Unmarshal(any, &named) // if the arguments are no object, the map stays empty
	switch kind {
	case coleo.ToolExecute:
		c.Command, _ = coleo.CutWork(commandIn(named))
	case coleo.ToolRead, coleo.ToolEdit:
		c.Files = filesIn(named)
	case coleo.ToolMCP, coleo.ToolSubagent, coleo.ToolOther:
	}
	return c
}

// MalformedCall returns a call whose arguments are not JSON.
func MalformedCall(id, name string, kind coleo.ToolKind, arguments string) coleo.ToolCall {
	reason := "the arguments are not JSON"
	var any json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &any); err != nil {
		reason = err.Error()
	}
	raw, cut := coleo.CutWork(arguments)
	return coleo.ToolCall{ID: id, Name: name, Kind: kind, Malformed: &coleo.Malformed{Error: reason, Raw: raw},
		Truncated: cut}
}

// TextCall returns the call of a tool that takes plain text. In the call, the arguments are this
// text as a JSON string.
func TextCall(id, name string, kind coleo.ToolKind, text string) coleo.ToolCall {
	raw, err := json.Marshal(text)
	if err != nil {
		raw = nil // a string can always be encoded
	}
	c := Call(id, name, kind, string(raw))
	if kind == coleo.ToolEdit {
		c.Files = FilesOfPatch(text)
	}
	return c
}

// These are the usual names of arguments in several agent CLIs.
var (
	commandNames = []string{"command", "cmd"}
	fileNames    = []string{"file_path", "filePath", "path", "absolute_path", "notebook_path", "dir_path"}
	listNames    = []string{"paths", "file_paths"}
	patchNames   = []string{"patchText", "patch", "input"}
)

// commandIn returns the command line in the arguments, or "" if there is none. It also accepts a
// list of words, because some tools take a list instead of a command line.
func commandIn(named map[string]json.RawMessage) string {
	for _, name := range commandNames {
		var line string
		var words []string
		switch raw := named[name]; {
		case len(raw) == 0:
		case json.Unmarshal(raw, &line) == nil:
			return line
		case json.Unmarshal(raw, &words) == nil:
			return CommandLine(words)
		}
	}
	return ""
}

// CommandLine returns the command line for a list of words. If the words are a shell with one
// command, CommandLine returns only that command: ["bash", "-lc", "ls"] is "ls".
func CommandLine(words []string) string {
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// filesIn returns the paths in the arguments.
func filesIn(named map[string]json.RawMessage) []string {
	for _, name := range fileNames {
		var path string
		if json.Unmarshal(named[name], &path) == nil && path != "" && len(path) <= longestPath {
			return []string{path}
		}
	}
	for _, name := range listNames {
		var paths []string
		if json.Unmarshal(named[name], &paths) == nil && len(paths) > 0 {
			return shortPaths(paths)
		}
	}
	for _, name := range patchNames {
		var patch string
		if json.Unmarshal(named[name], &patch) == nil {
			if files := FilesOfPatch(patch); files != nil {
				return files
			}
		}
	}
	return nil
}

const (
	// mostFiles is the largest number of files that are listed for one call.
	mostFiles = 256
	// longestPath is the largest size of a path in bytes: PATH_MAX on Linux.
	longestPath = 4096
)

// shortPaths returns the first mostFiles paths of a list. It leaves out texts that cannot be paths.
func shortPaths(paths []string) (out []string) {
	for _, p := range paths {
		if p != "" && len(p) <= longestPath && len(out) < mostFiles {
			out = append(out, p)
		}
	}
	return out
}

// FilesOfPatch returns the paths of the files that a patch changes. The patch must have the form
// that Codex and OpenCode use.
func FilesOfPatch(patch string) []string {
	var all []string
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, head); ok {
				all = append(all, strings.TrimSpace(path))
			}
		}
	}
	return shortPaths(all)
}

// Succeeded returns the end of a call that has succeeded.
func Succeeded(id, output string) coleo.ToolEnd {
	short, cut := coleo.CutWork(output)
	return coleo.ToolEnd{ID: id, Outcome: coleo.ToolSuccess, Output: short, Truncated: cut}
}

// Exited returns the end of a command. The exit code is a decimal number as text. Any code except 0
// is an error.
func Exited(id, code, output string) coleo.ToolEnd {
	n, err := strconv.Atoi(code)
	if err != nil {
		return Succeeded(id, output)
	}
	return ExitedWith(id, n, output)
}

// ExitedWith returns the end of a command with an exit code. Any code except 0 is an error.
func ExitedWith(id string, code int, output string) coleo.ToolEnd {
	end := Succeeded(id, output)
	if end.ExitCode = &code; code != 0 {
		end.Outcome, end.Reason = coleo.ToolError, "exit code "+strconv.Itoa(code)
	}
	return end
}

// FromTranscript returns the usage u, marked as read from a record.
func FromTranscript(u coleo.Usage) coleo.Usage {
	u.Source = "transcript"
	return u
}

// FailedCall returns the end of a call that has failed or was denied. The parameter `outcome` says
// which of the two.
func FailedCall(id string, outcome coleo.ToolOutcome, reason string) coleo.ToolEnd {
	short, cut := coleo.CutWork(reason)
	return coleo.ToolEnd{ID: id, Outcome: outcome, Reason: short, Truncated: cut}
}

// ProblemOf returns an error that the agent CLI reports.
func ProblemOf(text string, retries bool) coleo.Problem {
	short, _ := coleo.CutWork(text)
	return coleo.Problem{Text: short, Retries: retries}
}
