package git

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// pipesAfter is how long git runs before Coleo looks for pipes in git's folders. Each later pause is twice as
// long, so that the searches take little of a long call's time. Most calls of git end within a second.
const pipesAfter = 5 * time.Second

// readByGit lists the names of files in a work folder that git, or the filter of Git LFS, opens without checking
// their type. In an arm's folder, each of them can be a pipe. Git would then wait for a writer until its caller
// gives up.
var readByGit = []string{".gitattributes", ".gitignore", ".gitmodules", ".lfsconfig"}

// awaitTrap repeats a search until ctx ends. It looks for a file that keeps git from ending: a pipe, or a
// hollow file, which has many gigabytes and almost no data. In a git folder, any pipe counts, because git can
// read any file there. If awaitTrap finds such a file, it calls `found` with a text that says what git does,
// and returns.
func (p Program) awaitTrap(ctx context.Context, pid int, c call, found func(trap string)) {
	pause := p.pipesAfter
	if pause == 0 {
		pause = pipesAfter
	}
	for ; ; pause *= 2 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		path := pipeIn(ctx, c.dir)
		for _, gitDir := range c.gitDirs {
			if path == "" {
				path = pipeInGit(ctx, gitDir)
			}
		}
		if path != "" {
			found(fmt.Sprintf("waits for the pipe %q", path))
			return
		}
		if path := hollowFile(pid); path != "" {
			found(fmt.Sprintf("reads %q, which has many gigabytes and almost no data", path))
			return
		}
	}
}

// pipeInGit returns the path of a pipe in a git folder, or "" if there is none or ctx ends.
func pipeInGit(ctx context.Context, gitDir string) (pipe string) {
	_ = filepath.WalkDir(gitDir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err == nil && d.Type()&fs.ModeNamedPipe != 0:
			pipe = path
			return fs.SkipAll
		}
		return nil
	})
	return pipe
}

// pipeIn returns the path of a pipe below the folder `dir` that git would open, or "" if there is none or ctx ends.
func pipeIn(ctx context.Context, dir string) (pipe string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil // git cannot open files in a folder that cannot be read
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&fs.ModeNamedPipe != 0 && slices.Contains(readByGit, d.Name()):
			pipe = path
			return fs.SkipAll
		}
		return nil
	})
	return pipe
}
