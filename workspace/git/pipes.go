package git

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// pipesAfter is how long git runs before Coleo looks for pipes in its work folder, and the pause
// between two looks. Most calls of git end within a second, so most calls are never looked at.
const pipesAfter = 5 * time.Second

// readByGit lists the names of files that git opens in a work folder, whatever they are. In an arm's
// folder each of them can be a pipe. Git would wait for a writer as long as its caller lets it.
var readByGit = []string{".gitattributes", ".gitignore", ".gitmodules"}

// awaitPipe looks for a pipe in place of a file that git reads, again and again until ctx ends. It then
// calls found with the path of the pipe.
func (p Program) awaitPipe(ctx context.Context, dir string, found func(path string)) {
	pause := p.pipesAfter
	if pause == 0 {
		pause = pipesAfter
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if path := pipeIn(ctx, dir); path != "" {
			found(path)
			return
		}
	}
}

// pipeIn returns the path of a pipe below dir that git would open. It returns "" if there is none, or
// if ctx ends.
func pipeIn(ctx context.Context, dir string) (pipe string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil // a folder that cannot be read hides no file that git opens
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
