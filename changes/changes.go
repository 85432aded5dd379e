// Package changes says what an arm has changed in its folder, against the commit at which
// its work began.
//
// It has the types for that, and reads what git prints. Its functions are pure. Package
// changes/folder runs git.
package changes

import (
	"time"
	"unicode/utf8"
)

// The bounds of a Diff. A Diff that reaches one of them says so in Cut.
const (
	MaxFiles = 5_000    // files
	MaxPatch = 10 << 20 // bytes of the patch
	// MaxFile is the size of the largest file that is compared, in bytes. A larger one does
	// not fit into a patch.
	MaxFile = MaxPatch
)

// Wish says which changes somebody wants to see.
type Wish struct {
	// Paths are files and folders, relative to the arm's folder or absolute. Without any,
	// all changes of the repository count.
	Paths []string `json:"paths,omitempty"`
	// Stat leaves out the patch and the hunks.
	Stat bool `json:"stat,omitempty"`
	// Binary puts binary files into the patch. Without it, the patch only says that they
	// differ, and git cannot apply it.
	Binary bool `json:"binary,omitempty"`
	// Checkpoint asks for what changed from the checkpoint before this one up to this one.
	// nil asks for the present changes of the folder.
	Checkpoint *int `json:"checkpoint,omitempty"`
}

// Diff is what changed between two trees of files.
type Diff struct {
	Root string `json:"root"` // the top folder of the repository; paths are relative to it
	// Alias is Root as the arm's configuration names it, if that has symbolic links.
	Alias string    `json:"alias,omitempty"`
	Base  string    `json:"base"`           // the commit that it is compared with; "" if there was none yet
	Head  string    `json:"head,omitempty"` // the commit that is HEAD now; "" if there is none yet
	Time  time.Time `json:"time"`           // when it was read
	Files []File    `json:"files"`          // sorted by path
	// Left lists what was not compared, and why.
	Left []Left `json:"left,omitempty"`
	// Cut says for people what a bound has cut off; "" if everything is there.
	Cut string `json:"cut,omitempty"`
	// Patch is a patch for git apply. In JSON it is base64, because files can have any bytes.
	Patch []byte `json:"patch,omitempty"`
}

// Kind says how a file changed.
type Kind string

// The kinds.
const (
	Added    Kind = "added"
	Deleted  Kind = "deleted"
	Modified Kind = "modified" // its content or its mode
	Renamed  Kind = "renamed"  // perhaps modified, too
	Retyped  Kind = "retyped"  // a file became a symbolic link, or the other way round
)

// File is one file that changed.
type File struct {
	// Path is the file's name below Root. OldPath is its name before, if it was renamed. If a
	// name is no UTF-8, the field with Raw has its bytes.
	Path       string `json:"path"`
	RawPath    []byte `json:"rawPath,omitempty"`
	OldPath    string `json:"oldPath,omitempty"`
	RawOldPath []byte `json:"rawOldPath,omitempty"`
	Kind       Kind   `json:"kind" enum:"added,deleted,modified,renamed,retyped"`
	// OldMode and NewMode are modes as git writes them, such as 100644, 100755 (executable),
	// 120000 (symbolic link) and 160000 (submodule); "" if there is no file.
	OldMode string `json:"oldMode,omitempty"`
	NewMode string `json:"newMode,omitempty"`
	// Binary means that lines are not counted. Otherwise LinesAdded and LinesDeleted are the
	// numbers of lines.
	Binary       bool `json:"binary,omitempty"`
	LinesAdded   int  `json:"linesAdded"`
	LinesDeleted int  `json:"linesDeleted"`
	// These say where the change is. Several can be true.
	Committed bool `json:"committed,omitempty"` // in commits since Base
	Staged    bool `json:"staged,omitempty"`    // in the index
	Unstaged  bool `json:"unstaged,omitempty"`  // in the work folder
	Untracked bool `json:"untracked,omitempty"` // in the work folder; git does not know the file
	Conflict  bool `json:"conflict,omitempty"`  // a merge left it with conflicts
	// Offset and Length say where the file is in the patch, in bytes. Length is 0 if it is
	// not there.
	Offset int    `json:"offset,omitempty"`
	Length int    `json:"length,omitempty"`
	Hunks  []Hunk `json:"hunks,omitempty"`
}

// Name returns the bytes of the file's path.
func (f File) Name() string { return nameOf(f.Path, f.RawPath) }

// OldName returns the bytes of the path from before a rename, or "".
func (f File) OldName() string { return nameOf(f.OldPath, f.RawOldPath) }

func nameOf(text string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return text
}

// named returns a name as JSON can have it, and its bytes if these differ.
func named(name string) (text string, raw []byte) {
	if utf8.ValidString(name) {
		return name, nil
	}
	return string([]rune(name)), []byte(name) // each byte that is no UTF-8 becomes U+FFFD
}

// Hunk is one changed place of a file. Lines count from 1. If a side has no lines, its start
// is the line before the place.
type Hunk struct {
	OldStart int    `json:"oldStart"`
	OldLines int    `json:"oldLines"`
	NewStart int    `json:"newStart"`
	NewLines int    `json:"newLines"`
	Section  string `json:"section,omitempty"` // what git writes behind the numbers, such as a function
	Offset   int    `json:"offset"`            // in the patch, in bytes; it begins with @@
	Length   int    `json:"length"`
	Why      *Why   `json:"why,omitempty"` // if it was asked for
}

// Why says which call of which run made a hunk. Certainty is as in package graph.
type Why struct {
	Certainty string `json:"certainty" enum:"wrote,changed,possible,nothing"`
	Note      string `json:"note"` // for people: what the certainty means here
	Run       string `json:"run,omitempty"`
	Prompt    string `json:"prompt,omitempty"`
	Call      string `json:"call,omitempty"` // the id of the call
	Tool      string `json:"tool,omitempty"` // its name
	// Time is when the call ended, or began if its end is not known. The recording of the
	// arm's start Generation shows that moment. Offset is where the prompt is in it, in bytes.
	Time       *time.Time `json:"time,omitempty"`
	Generation int        `json:"generation,omitempty"`
	Offset     int64      `json:"offset,omitempty"`
	// Approval is how the dialog of the call was answered; "" if no dialog is matched with it.
	// Policy is the rule that answered, and Approver is the caller who did.
	Approval string `json:"approval,omitempty"`
	Policy   string `json:"policy,omitempty"`
	Approver string `json:"approver,omitempty"`
}

// Left is something that was not compared, kept or restored.
type Left struct {
	Path    string `json:"path"`
	RawPath []byte `json:"rawPath,omitempty"` // the bytes of a path that is no UTF-8
	Why     string `json:"why"`
}

// LeaveOut returns a Left.
func LeaveOut(path, why string) Left {
	l := Left{Why: why}
	l.Path, l.RawPath = named(path)
	return l
}

// Name returns the bytes of the path.
func (l Left) Name() string { return nameOf(l.Path, l.RawPath) }

// The reasons of checkpoints.
const (
	AtStart       = "start"          // the arm was about to start
	AfterTurn     = "turn"           // a turn has ended
	BeforeRestore = "before restore" // the files as they were before a restore
	AfterRestore  = "restore"        // the files that a restore has put back
)

// Checkpoint is the state of an arm's files at one time.
type Checkpoint struct {
	N      int       `json:"n"`      // its number, from 0
	Commit string    `json:"commit"` // a commit that no branch has; its tree has the files
	Parent string    `json:"parent,omitempty"`
	Tree   string    `json:"tree"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason" enum:"start,turn,before restore,restore"`
	Run    string    `json:"run,omitempty"`  // the run whose turn has ended
	From   *int      `json:"from,omitempty"` // for a restore: the checkpoint that was put back
	Left   []Left    `json:"left,omitempty"` // files that are not in it
}

// Restored says what a restore has done.
type Restored struct {
	N       int      `json:"n"`              // the checkpoint that was put back
	Before  int      `json:"before"`         // the checkpoint of the files before: restore it to undo the restore
	Written []string `json:"written"`        // the files that were put back
	Deleted []string `json:"deleted"`        // the files that had been made since
	Left    []Left   `json:"left,omitempty"` // what was not put back, and why
}
