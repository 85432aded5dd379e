// Package changes describes what an arm has changed in its folder since the commit at which its
// work began.
//
// The package contains the types, and parses what git prints. Its functions are pure. Package
// changes does not run git: package changes/folder does.
package changes

import (
	"time"
	"unicode/utf8"
)

// These constants bound a Diff. If MaxFiles or MaxPatch cuts something off, Diff.Cut describes what is missing.
const (
	MaxFiles = 5_000    // files
	MaxPatch = 10 << 20 // bytes of the patch
	// MaxFile is the size of the largest file that is compared, in bytes. A larger file
	// does not fit into a patch.
	MaxFile = MaxPatch
)

// DiffRequest describes which changes a Diff contains, and in how much detail.
type DiffRequest struct {
	// Paths are files and folders, relative to the arm's folder or absolute. An empty list
	// means the whole repository.
	Paths []string `json:"paths,omitempty"`
	// Stat means that the Diff contains no patch and no hunks.
	Stat bool `json:"stat,omitempty"`
	// Binary means that the patch contains the changes of binary files. Otherwise the patch only
	// says that binary files differ, and git cannot apply the patch.
	Binary bool `json:"binary,omitempty"`
	// Checkpoint is the number of a checkpoint. The Diff then contains what changed between the
	// previous checkpoint and this one. If Checkpoint is nil, the Diff contains the present changes
	// of the folder.
	Checkpoint *int `json:"checkpoint,omitempty"`
	// Wait and Since are set if the caller follows the diff. The caller receives the Diff as soon as its Mark differs
	// from Since. If the Mark is still the same after Wait, the caller receives a Diff in which Unchanged is true.
	Wait  time.Duration `json:"wait,omitempty"`
	Since string        `json:"since,omitempty"`
}

// Diff is what changed between two trees of files.
type Diff struct {
	Root string `json:"root"` // the top folder of the repository; paths are relative to it
	// Repos lists the repositories, if the arm works in several. Root is then the folder above them, and Base
	// and Head are "". Most arms work in only one repository, and Repos is empty.
	Repos []Repository `json:"repos,omitempty"`
	// Alias is the path of Root as the arm's configuration contains it, with its symbolic links. If the
	// configured path contains no symbolic links, Alias is "".
	Alias string    `json:"alias,omitempty"`
	Base  string    `json:"base"`           // the commit that the files are compared with; "" if there was none
	Head  string    `json:"head,omitempty"` // the commit that is HEAD now; "" if there is none yet
	Time  time.Time `json:"time"`           // when the Diff was read
	Files []File    `json:"files"`          // sorted by path
	// Left lists the files that were not compared, each with a reason.
	Left []Left `json:"left,omitempty"`
	// Cut describes, for people, what a bound has cut off. If nothing was cut off, Cut is "".
	Cut string `json:"cut,omitempty"`
	// Mark identifies the content of the diff: two Diffs have the same Mark if and only if they are the same. Only a
	// Diff for a caller that follows the diff has a Mark. Unchanged means that the Mark still equals the request's
	// Since. The Diff then contains no files.
	Mark      string `json:"mark,omitempty"`
	Unchanged bool   `json:"unchanged,omitempty"`
	// Patch is a patch for git apply. In JSON it is base64, because files can contain any bytes.
	Patch []byte `json:"patch,omitempty"`
}

// Repository is one of several repositories in which an arm works.
type Repository struct {
	Name string `json:"name"` // the repository's folder below Root
	Base string `json:"base"` // as in Diff
	Head string `json:"head,omitempty"`
}

// Kind is the way in which a file changed.
type Kind string

// These are the kinds.
const (
	Added    Kind = "added"
	Deleted  Kind = "deleted"
	Modified Kind = "modified" // the file's content or mode changed
	Renamed  Kind = "renamed"  // the file was renamed, and its content may have changed too
	Retyped  Kind = "retyped"  // a file became a symbolic link, or a link became a file
)

// File is one file that changed.
type File struct {
	// Path is the file's path relative to Root. OldPath is the path before a rename. Without a
	// rename, OldPath is "". RawPath and RawOldPath contain the bytes of a path that is not UTF-8.
	Path       string `json:"path"`
	RawPath    []byte `json:"rawPath,omitempty"`
	OldPath    string `json:"oldPath,omitempty"`
	RawOldPath []byte `json:"rawOldPath,omitempty"`
	Kind       Kind   `json:"kind" enum:"added,deleted,modified,renamed,retyped"`
	// OldMode and NewMode are modes as git writes them, such as 100644, 100755 (executable), 120000
	// (symbolic link) and 160000 (submodule). If there is no old file, OldMode is "". If there is
	// no new file, NewMode is "".
	OldMode string `json:"oldMode,omitempty"`
	NewMode string `json:"newMode,omitempty"`
	// Binary means that git treats the file as binary and counts no lines. If Binary is false,
	// LinesAdded and LinesDeleted are the numbers of lines.
	Binary       bool `json:"binary,omitempty"`
	LinesAdded   int  `json:"linesAdded"`
	LinesDeleted int  `json:"linesDeleted"`
	// The next five fields describe where the change is. Several of them can be true.
	Committed bool `json:"committed,omitempty"` // in commits since Base
	Staged    bool `json:"staged,omitempty"`    // in the index
	Unstaged  bool `json:"unstaged,omitempty"`  // in the work folder
	Untracked bool `json:"untracked,omitempty"` // in the work folder, as a file that git does not know
	Conflict  bool `json:"conflict,omitempty"`  // a merge left the file with conflicts
	// Offset and Length are the position and the size of the file's part of the patch, in bytes. Length is 0
	// if the patch does not contain the file.
	Offset int    `json:"offset,omitempty"`
	Length int    `json:"length,omitempty"`
	Hunks  []Hunk `json:"hunks,omitempty"`
}

// Name returns the bytes of the file's path.
func (f File) Name() string { return nameOf(f.Path, f.RawPath) }

// OldName returns the bytes of the file's path before a rename. Without a rename, it returns "".
func (f File) OldName() string { return nameOf(f.OldPath, f.RawOldPath) }

func nameOf(text string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return text
}

// nameForJSON returns a name as valid UTF-8 for JSON. If the name is not UTF-8, `raw` contains its bytes.
// Otherwise `raw` is nil.
func nameForJSON(name string) (text string, raw []byte) {
	if utf8.ValidString(name) {
		return name, nil
	}
	return string([]rune(name)), []byte(name) // each byte that is not UTF-8 becomes U+FFFD
}

// Hunk is one changed place in a file. Line numbers count from 1. If the place has no old lines, OldStart is
// the old line before the place. If it has no new lines, NewStart is the new line before the place.
type Hunk struct {
	OldStart int    `json:"oldStart"`
	OldLines int    `json:"oldLines"`
	NewStart int    `json:"newStart"`
	NewLines int    `json:"newLines"`
	Section  string `json:"section,omitempty"` // what git writes after the line numbers, such as the name of a function
	Offset   int    `json:"offset"`            // where the hunk's @@ is in the patch, in bytes
	Length   int    `json:"length"`
	Why      *Why   `json:"why,omitempty"` // nil unless the caller asked for it
}

// Why names the tool call that made a hunk, and the run of this call. Package graph defines the values of Certainty.
type Why struct {
	Certainty string `json:"certainty" enum:"wrote,changed,possible,nothing"`
	Note      string `json:"note"` // a text for people that says what Certainty means for this hunk
	Run       string `json:"run,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	Call      string `json:"call,omitempty"` // the id of the call
	Tool      string `json:"tool,omitempty"` // its name
	// Time is when the call ended. If the end is not known, Time is when the call began.
	//
	// Each start of the arm has a number, its generation, and a recording of the terminal. Generation says which
	// recording shows the call. Offset is the position of the prompt in this recording, in bytes.
	Time       *time.Time `json:"time,omitempty"`
	Generation int        `json:"generation,omitempty"`
	Offset     int64      `json:"offset,omitempty"`
	// Approval is the answer to the call's dialog. It is "" if no dialog is matched with the call.
	// Policy is the rule that answered, and Approver is the caller who answered.
	Approval string `json:"approval,omitempty"`
	Policy   string `json:"policy,omitempty"`
	Approver string `json:"approver,omitempty"`
}

// Left is a path that was left out of a comparison, a checkpoint or a restore.
type Left struct {
	Path    string `json:"path"`
	RawPath []byte `json:"rawPath,omitempty"` // the bytes of a path that is not UTF-8
	Why     string `json:"why"`
}

// LeaveOut returns a Left for the path and the reason why.
func LeaveOut(path, why string) Left {
	l := Left{Why: why}
	l.Path, l.RawPath = nameForJSON(path)
	return l
}

// Name returns the bytes of the path.
func (l Left) Name() string { return nameOf(l.Path, l.RawPath) }

// These are the reasons for which Coleo makes a checkpoint.
const (
	AtStart       = "start"          // the arm is about to start
	AfterTurn     = "turn"           // a turn has ended
	BeforeRestore = "before restore" // keeps the files that a restore is about to replace
	AfterRestore  = "restore"        // keeps the files as a restore has left them
)

// Checkpoint is the state of an arm's files at one time.
type Checkpoint struct {
	N      int       `json:"n"`      // its number, from 0
	Commit string    `json:"commit"` // the id of a commit outside of all branches, whose tree contains the files
	Parent string    `json:"parent,omitempty"`
	Tree   string    `json:"tree"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason" enum:"start,turn,before restore,restore"`
	Run    string    `json:"run,omitempty"`  // the id of the run whose turn has ended
	From   *int      `json:"from,omitempty"` // after a restore: the checkpoint that was restored
	Left   []Left    `json:"left,omitempty"` // files that the checkpoint leaves out
}

// Restored is the result of a restore.
type Restored struct {
	N       int      `json:"n"`              // the checkpoint that was restored
	Before  int      `json:"before"`         // the checkpoint of the files before the restore; restore it to undo
	Written []string `json:"written"`        // the files that were written
	Deleted []string `json:"deleted"`        // the deleted files, which were made after the checkpoint
	Left    []Left   `json:"left,omitempty"` // the files that were not restored, each with a reason
}
