package git

import (
	"context"
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

// awaitPipe searches for a pipe in place of a file that git reads, until ctx ends. If it finds one, it calls
// found with the path of the pipe and returns. In the git folders, git may read any file.
func (p Program) awaitPipe(ctx context.Context, dir string, gitDirs []string, found func(path string)) {
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
		path := pipeIn(ctx, dir)
		for _, gitDir := range gitDirs {
			if path == "" {
				path = pipeInGit(ctx, gitDir)
			}
		}
		if path != "" {
			found(path)
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

// pipeIn returns the path of a pipe below dir that git would open, or "" if there is none or ctx ends.
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
