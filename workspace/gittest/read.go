package gittest

import (
	"os"
	"path/filepath"
	"strings"
)

// This file reads the files of a repository instead of asking git. Starting git takes more time than most other
// steps of a test.

// Rev returns the id that git rev-parse prints for a branch, a tag, another ref or HEAD. If no file of the repository
// contains the id, Rev starts git. `dir` is a work folder or a git folder.
func (s *Stage) Rev(dir, name string) string {
	s.Helper()
	gitDir := gitFolder(dir)
	common := gitDir
	if line := firstLine(filepath.Join(gitDir, "commondir")); line != "" {
		common = filepath.Join(gitDir, line)
	}
	if name == "HEAD" {
		head := firstLine(filepath.Join(gitDir, "HEAD"))
		ref, is := strings.CutPrefix(head, "ref: ")
		if !is {
			return head
		}
		name = ref
	}
	for _, ref := range []string{name, "refs/" + name, "refs/tags/" + name, "refs/heads/" + name} {
		if id := readRef(common, ref); id != "" {
			return id
		}
	}
	return s.Git(dir, "rev-parse", name)
}

// gitFolder returns the git folder of a work folder.
func gitFolder(dir string) string {
	path := filepath.Join(dir, ".git")
	line, is := strings.CutPrefix(firstLine(path), "gitdir: ")
	switch {
	case !is && isFolder(path):
		return path
	case !is:
		return dir
	case filepath.IsAbs(line):
		return line
	}
	return filepath.Join(dir, line)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// firstLine returns the first line of a file, or "" if there is no file.
func firstLine(path string) string {
	data, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

// readRef returns the id of a ref in a git folder, or "" if no file contains the id.
func readRef(common, ref string) string {
	if !strings.HasPrefix(ref, "refs/") {
		return ""
	}
	if line := firstLine(filepath.Join(common, ref)); line != "" {
		if strings.HasPrefix(line, "ref: ") {
			return "" // git follows it
		}
		return line
	}
	packed, _ := os.ReadFile(filepath.Join(common, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		if id, name, is := strings.Cut(strings.TrimSuffix(line, "\n"), " "); is && name == ref {
			return id
		}
	}
	return ""
}

// Fsck checks all objects of a repository. It skips the commit-graph and the multi-pack-index, because no stage has
// them.
func (s *Stage) Fsck(dir string) {
	s.Helper()
	s.Git(dir, "-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false", "fsck", "--no-dangling")
}

// Collect packs the refs and deletes all objects that nothing needs. git gc does the same with twice as many
// processes.
func (s *Stage) Collect(dir string) {
	s.Helper()
	s.Git(dir, "pack-refs", "--all")
	s.Git(dir, "repack", "-adq")
	s.Git(dir, "prune", "--expire=now")
}
