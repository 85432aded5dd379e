package folder

import (
	"context"
	slash "path"
	"strings"

	"coleo.dev/changes"
)

const (
	ignoreFile = ".gitignore"
	// mostIgnoring is the largest number of hidden .gitignore files that a diff names.
	mostIgnoring = 100
)

// hiddenLists returns the .gitignore files in a clone that are in no commit and that git itself ignores. A diff shows
// neither such a file nor the files that it names, so an arm can hide files with it. Such a file can also be
// harmless, because many tools write one into their own folders. hiddenLists does not search folders that another
// list ignores.
func (f *Folder) hiddenLists(ctx context.Context) (left []changes.Left, err error) {
	if f.main == nil {
		return nil, nil
	}
	out, err := f.repo.Output(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--",
		":(glob)**/"+ignoreFile)
	for name := range strings.SplitSeq(string(out), "\x00") {
		switch {
		case slash.Base(name) != ignoreFile || strings.HasSuffix(name, "/"):
		case len(left) == mostIgnoring:
			return append(left, changes.LeaveOut("...", "more files with ignore rules are themselves ignored")), err
		default:
			left = append(left, changes.LeaveOut(name, "git ignores it, so the diff shows "+
				"neither its rules nor the files that they ignore"))
		}
	}
	return left, err
}
