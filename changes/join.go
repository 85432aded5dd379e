package changes

import (
	"bytes"
	"strings"
)

var renameLines = [][]byte{[]byte("rename from "), []byte("rename to ")}

// PrefixRenames adds a folder to the paths in the rename lines of a patch. Git itself can add the folder
// in all other lines. The folder is "" or ends with a slash.
func PrefixRenames(patch []byte, folder string) []byte {
	if folder == "" {
		return patch
	}
	var out bytes.Buffer
	for line := range bytes.Lines(patch) {
		for _, word := range renameLines {
			if rest, is := bytes.CutPrefix(line, word); is { // a header of git, because a file's content begins differently
				out.Write(word)
				if quoted, is := bytes.CutPrefix(rest, []byte{'"'}); is {
					out.WriteByte('"')
					rest = quoted
				}
				out.WriteString(folder)
				line = rest
				break
			}
		}
		out.Write(line)
	}
	return out.Bytes()
}

// Part is the diff of one of several repositories. The paths in the diff's patch begin with Name, but the
// paths in the diff's other fields do not.
type Part struct {
	Name string
	Diff Diff
}

// Join combines the diffs of several repositories into one. The repositories are folders in `root`. MaxFiles
// and MaxPatch apply to the combined diff.
func Join(root string, parts []Part) Diff {
	all := Diff{Root: root, Files: []File{}}
	moreFiles, patchCut, without := false, false, 0
	var cut []string
	for _, p := range parts {
		d := p.Diff
		all.Time = d.Time
		all.Repos = append(all.Repos, Repository{p.Name, d.Base, d.Head})
		for _, l := range d.Left {
			all.Left = append(all.Left, LeaveOut(p.Name+"/"+l.Name(), l.Why))
		}
		for _, f := range d.Files {
			if len(all.Files) == MaxFiles {
				moreFiles = true
				break
			}
			text := d.Patch[f.Offset : f.Offset+f.Length]
			if patchCut = patchCut || len(all.Patch)+len(text) > MaxPatch; patchCut {
				f.Offset, f.Length, f.Hunks, text = 0, 0, nil, nil
				without++
			}
			f.Hunks = shiftHunks(f.Hunks, len(all.Patch)-f.Offset)
			if f.Offset = len(all.Patch); f.Length == 0 {
				f.Offset = 0
			}
			f.Path, f.RawPath = nameForJSON(p.Name + "/" + f.Name())
			if f.OldPath != "" {
				f.OldPath, f.RawOldPath = nameForJSON(p.Name + "/" + f.OldName())
			}
			all.Files, all.Patch = append(all.Files, f), append(all.Patch, text...)
		}
		if d.Cut != "" {
			cut = append(cut, p.Name+": "+d.Cut)
		}
	}
	if note := CutNote(MaxFiles, moreFiles, patchCut, without); note != "" {
		cut = append(cut, note)
	}
	all.Cut = strings.Join(cut, "; ")
	return all
}

// shiftHunks returns the hunks with their offsets in the patch increased by a number of bytes.
func shiftHunks(hunks []Hunk, by int) []Hunk {
	var out []Hunk
	for _, h := range hunks {
		h.Offset += by
		out = append(out, h)
	}
	return out
}
