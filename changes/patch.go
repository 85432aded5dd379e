package changes

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// part is the part of a patch that describes one file. A file whose type has changed, for example
// to a symbolic link, has two parts.
type part struct {
	offset, length int
	hunks          []Hunk
	lines          Lines
}

// fileStart and hunkStart match only headers, because no other line of a patch can begin like a header.
// Lines of text begin with a blank, + or -, and lines of a binary file contain no blanks.
var (
	fileStart = []byte("diff --git ")
	// A binary file has no hunks. Instead, its part of the patch has a line with one of these beginnings.
	binaryStarts = [][]byte{[]byte("Binary files "), []byte("GIT binary patch")}
	hunkStart    = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)`)
)

// partsOf splits a patch into the parts of its files, and counts their lines.
func partsOf(patch []byte) (parts []part) {
	var at *part
	offset := 0
	for line := range bytes.Lines(patch) {
		switch {
		case bytes.HasPrefix(line, fileStart):
			parts = append(parts, part{offset: offset})
			at = &parts[len(parts)-1]
		case at != nil && bytes.HasPrefix(line, []byte("@@ ")):
			if h, ok := hunkOf(line); ok {
				h.Offset = offset
				at.hunks = append(at.hunks, h)
			}
		case at != nil:
			at.count(line)
		}
		offset += len(line)
		if at != nil {
			at.length = offset - at.offset
			if n := len(at.hunks); n > 0 {
				at.hunks[n-1].Length = offset - at.hunks[n-1].Offset
			}
		}
	}
	return parts
}

// count counts one line of the part, unless it is a header.
func (p *part) count(line []byte) {
	inHunk := len(p.hunks) > 0
	switch {
	case inHunk && line[0] == '+':
		p.lines.Added++
	case inHunk && line[0] == '-':
		p.lines.Deleted++
	case !inHunk && slices.ContainsFunc(binaryStarts, func(s []byte) bool { return bytes.HasPrefix(line, s) }):
		p.lines.Binary = true
	}
}

func hunkOf(line []byte) (Hunk, bool) {
	m := hunkStart.FindSubmatch(bytes.TrimRight(line, "\r\n"))
	if m == nil {
		return Hunk{}, false
	}
	number := func(text []byte) int {
		if text == nil {
			return 1 // git omits the number 1
		}
		n, _ := strconv.Atoi(string(text))
		return n
	}
	section, _ := nameForJSON(string(m[5]))
	return Hunk{OldStart: number(m[1]), OldLines: number(m[2]), NewStart: number(m[3]), NewLines: number(m[4]),
		Section: section}, true
}

// CutPatch removes the last file from a patch that git did not finish. The result is a
// whole patch that git can apply.
func CutPatch(patch []byte) []byte {
	last := bytes.LastIndex(patch, append([]byte("\n"), fileStart...))
	return patch[:last+1] // the result is empty if the patch had only one file
}

// Assemble returns the files of the entries, with their positions in the patch. The patch must contain the same files
// in the same order, but may lack the last ones. `lines` contains the line counts of each file. If `lines` is nil,
// the patch must contain all files, and Assemble counts the lines of the patch. `flagsByPath` contains the flags of
// each file.
func Assemble(entries []RawEntry, lines map[string]Lines, patch []byte, flagsByPath map[string]Entry,
	committed map[string]bool) []File {
	files := []File{} // not nil, because the JSON must not contain null
	parts := partsOf(patch)
	for _, e := range entries {
		f := File{Kind: kindOf(e), OldMode: e.OldMode, NewMode: e.NewMode, Committed: committed[e.Path] ||
			committed[e.OldPath]}
		f.Path, f.RawPath = nameForJSON(e.Path)
		f.OldPath, f.RawOldPath = nameForJSON(e.OldPath)
		if l, counted := lines[e.Path]; counted {
			f.LinesAdded, f.LinesDeleted, f.Binary = l.Added, l.Deleted, l.Binary
		}
		for _, path := range []string{e.Path, e.OldPath} {
			w := flagsByPath[path]
			f.Staged, f.Unstaged = f.Staged || w.Staged, f.Unstaged || w.Unstaged
			f.Untracked, f.Conflict = f.Untracked || w.Untracked, f.Conflict || w.Conflict
		}
		parts = f.takeParts(parts, lines == nil)
		files = append(files, f)
	}
	return files
}

// takeParts stores in f the positions of f's parts of the patch. The first of `parts` must belong to f. takeParts
// returns the parts of the following files. If `count` is true, it also stores the line counts.
func (f *File) takeParts(parts []part, count bool) []part {
	own := 1
	if f.Kind == Retyped {
		own = 2 // a retyped file has a part that deletes the old file and one that adds the new
	}
	if len(parts) < own {
		return nil
	}
	f.Offset = parts[0].offset
	for _, p := range parts[:own] {
		f.Length += p.length
		f.Hunks = append(f.Hunks, p.hunks...)
		if count {
			f.LinesAdded, f.LinesDeleted = f.LinesAdded+p.lines.Added, f.LinesDeleted+p.lines.Deleted
			f.Binary = f.Binary || p.lines.Binary
		}
	}
	return parts[own:]
}

func kindOf(e RawEntry) Kind {
	switch e.Status {
	case 'A':
		return Added
	case 'D':
		return Deleted
	case 'R':
		return Renamed
	case 'T':
		return Retyped
	}
	return Modified
}

// Sum returns the total numbers of added and deleted lines.
func Sum(files []File) (added, deleted int) {
	for _, f := range files {
		added, deleted = added+f.LinesAdded, deleted+f.LinesDeleted
	}
	return added, deleted
}

// Text returns the part of the patch that contains the hunk. If the patch does not contain the hunk,
// Text returns nil.
func (d Diff) Text(h Hunk) []byte {
	if h.Offset < 0 || h.Length < 0 || h.Offset+h.Length > len(d.Patch) {
		return nil
	}
	return d.Patch[h.Offset : h.Offset+h.Length]
}

// NewLine is a line that a hunk added.
type NewLine struct {
	Number int // line number in the new file, from 1
	Text   string
}

// NewLines returns the lines that a hunk added.
func (d Diff) NewLines(h Hunk) (added []NewLine) {
	number := h.NewStart - 1
	for line := range bytes.Lines(d.Text(h)) {
		switch line[0] {
		case '+':
			number++
			added = append(added, NewLine{number, string(bytes.TrimRight(line[1:], "\r\n"))})
		case ' ', '\n':
			number++
		}
	}
	return added
}

// CutNote describes, for people, what was cut off. If nothing was cut off, it returns "".
func CutNote(files int, moreFiles, patchCut bool, withoutPatch int) string {
	switch {
	case moreFiles && patchCut:
		return fmt.Sprintf("more than %d files changed: the rest is left out; the patch ends after %d MB, without %d files",
			files, MaxPatch>>20, withoutPatch)
	case moreFiles:
		return fmt.Sprintf("more than %d files changed: the rest is left out", files)
	case patchCut:
		return fmt.Sprintf("the patch ends after %d MB: %d files are not in it", MaxPatch>>20, withoutPatch)
	}
	return ""
}
