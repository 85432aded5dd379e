package changes

import (
	"bytes"
	"strconv"
	"strings"

	"coleo.dev"
)

// submodule is the mode that git gives a submodule.
const submodule = "160000"

// noMode is the mode that git gives a file that does not exist.
const noMode = "000000"

// Entry is one path that git status reports as changed.
type Entry struct {
	Path string // the path's bytes, which may not be UTF-8
	// Mode and ID are the mode and the id of the file in HEAD. If HEAD does not contain the file,
	// both are "".
	Mode, ID string
	// Submodule means that the path is a submodule in the index.
	Submodule bool
	// Gone means that the work folder has nothing at the path, or something that git cannot store.
	Gone bool

	Staged, Unstaged, Untracked, Conflict bool
}

// Status is the parsed output of git status.
type Status struct {
	Head    string // the commit id; "" before the first commit
	Entries []Entry
	Nested  []string // folders that are repositories of their own; each path ends with a slash
	Unread  []Left   // folders that git could not read
}

// unread is the beginning of git's warning about a folder that git cannot read. Git status leaves out the
// files in this folder. After this beginning come the folder's name, a quotation mark, a colon and the
// reason. Git cuts off a long line.
const unread = "warning: could not open directory '"

// AddWarnings parses what git status has written to its standard error.
func (s *Status) AddWarnings(text string) {
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), unread)
		if !is {
			continue
		}
		name, why, whole := strings.Cut(rest, "': ")
		if !whole {
			why = "its path is too long"
		}
		s.Unread = append(s.Unread, LeaveOut(name, "it cannot be read: "+strings.ToLower(why)))
	}
}

// ParseStatus reads the output of git status --porcelain=v2 --branch -z --no-renames.
func ParseStatus(out []byte) (Status, error) {
	var s Status
	for record := range bytes.SplitSeq(out, []byte{0}) {
		line := string(record)
		if line == "" {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		var ok bool
		switch kind {
		case "#":
			ok = true
			if head, is := strings.CutPrefix(rest, "branch.oid "); is && head != "(initial)" {
				s.Head = head
			}
		case "?":
			if ok = true; strings.HasSuffix(rest, "/") {
				s.Nested = append(s.Nested, rest)
			} else {
				s.Entries = append(s.Entries, Entry{Path: rest, Untracked: true})
			}
		case "1":
			ok = s.addChanged(rest)
		case "u":
			ok = s.addUnmerged(rest)
		}
		if !ok {
			return s, unknownLine("git status", line)
		}
	}
	return s, nil
}

// addChanged parses a line XY SUB MODE-HEAD MODE-INDEX MODE-WORK ID-HEAD ID-INDEX PATH.
func (s *Status) addChanged(rest string) bool {
	f := strings.SplitN(rest, " ", 8)
	if len(f) != 8 || len(f[0]) != 2 {
		return false
	}
	e := Entry{Path: f[7], Staged: f[0][0] != '.', Unstaged: f[0][1] != '.', Gone: f[0][1] == 'D',
		Submodule: f[3] == submodule}
	if f[2] != noMode {
		e.Mode, e.ID = f[2], f[5]
	}
	s.Entries = append(s.Entries, e)
	return true
}

// addUnmerged parses a line XY SUB MODE-1 MODE-2 MODE-3 MODE-WORK ID-1 ID-2 ID-3 PATH. Version 2 of the file
// is the version in HEAD.
func (s *Status) addUnmerged(rest string) bool {
	f := strings.SplitN(rest, " ", 10)
	if len(f) != 10 {
		return false
	}
	e := Entry{Path: f[9], Unstaged: true, Conflict: true, Submodule: f[3] == submodule}
	if f[3] != noMode {
		e.Mode, e.ID = f[3], f[7]
	}
	s.Entries = append(s.Entries, e)
	return true
}

// RawEntry is one line of git diff --raw.
type RawEntry struct {
	OldMode, NewMode string // "" if there is no file
	OldID, NewID     string
	Status           byte   // A, D, M, R or T
	OldPath, Path    string // the paths' bytes; OldPath is "" unless the file was renamed
}

// Lines contains how many lines a file gained and lost.
type Lines struct {
	Added, Deleted int
	Binary         bool // the file is binary, so its lines are not counted
}

// ParseRaw parses the output of git diff --raw -z. If the command also had --numstat or --patch, their output
// comes after that of --raw. `lines` contains the line counts of each file, by path, or is nil if the output
// has no line counts. `patch` is the output of --patch.
func ParseRaw(out []byte) (entries []RawEntry, lines map[string]Lines, patch []byte, err error) {
	next := func() string {
		field, rest, _ := bytes.Cut(out, []byte{0})
		out = rest
		return string(field)
	}
	for len(out) > 0 {
		head := next()
		switch {
		case head == "": // an empty string separates the list from the patch
			return entries, lines, out, nil
		case head[0] == ':':
			f := strings.Fields(head[1:])
			if len(f) != 5 || len(out) == 0 {
				return nil, nil, nil, unknownLine("git diff --raw", head)
			}
			e := RawEntry{OldMode: modeOf(f[0]), NewMode: modeOf(f[1]), OldID: f[2], NewID: f[3], Status: f[4][0], Path: next()}
			if e.Status == 'R' {
				e.OldPath, e.Path = e.Path, next()
			}
			entries = append(entries, e)
		default:
			f := strings.SplitN(head, "\t", 3)
			if len(f) != 3 {
				return nil, nil, nil, unknownLine("git diff --numstat", head)
			}
			if f[2] == "" { // the paths of a renamed file follow separately
				next()
				f[2] = next()
			}
			if lines == nil {
				lines = map[string]Lines{}
			}
			lines[f[2]] = linesOf(f[0], f[1])
		}
	}
	return entries, lines, nil, nil
}

func linesOf(added, deleted string) Lines {
	if added == "-" {
		return Lines{Binary: true}
	}
	var l Lines
	l.Added, _ = strconv.Atoi(added)
	l.Deleted, _ = strconv.Atoi(deleted)
	return l
}

func modeOf(text string) string {
	if text == noMode {
		return ""
	}
	return text
}

func unknownLine(command, line string) error {
	return coleo.Errorf(coleo.EInternal, "%s prints %.100q, which Coleo does not know", command, line)
}
