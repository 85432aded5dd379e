package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
	"coleo.dev/workspace/git"
)

// These are the paths of the scripts, relative to the top folder of the repository.
const (
	Setup = ".coleo/setup"
	Check = ".coleo/check"
)

// maxScript is the size of the largest allowed script, in bytes. A person must be able to read the
// script before trusting it.
const maxScript = 256 << 10

// Script is one version of a project's script, from one commit.
type Script struct {
	Repository string `json:"repository"` // the repository's folder with the objects and refs
	Path       string `json:"path"`       // Setup or Check
	Commit     string `json:"commit"`
	Content    string `json:"content"`
	// Files contains the script and the files that the script names, sorted by path.
	Files []File `json:"files"`
	// Why is the reason why the script may start more than Files. It is "" if the script cannot
	// start more.
	Why string `json:"why,omitempty"`
	// Hash covers all files of the commit if Why is not "", and otherwise only Files. NamedHash
	// always covers only Files. Both are SHA-256, in hexadecimal digits.
	Hash      string `json:"hash"`
	NamedHash string `json:"named_hash"`
}

// File is a file of a commit.
type File struct {
	Path string `json:"path"`
	Mode string `json:"mode"` // as git prints it, such as 100755
	Blob string `json:"blob"` // the id of the content
	Hash string `json:"sha256"`
}

// These are the modes of files as git prints them.
const (
	modeFile    = "100644"
	modeProgram = "100755"
	modeLink    = "120000"
)

// Read returns a script from a commit. `commit` is the commit's full id. `found` is false if the commit does
// not contain the script. Read returns EInvalid for a script that cannot run. Such a script is a symbolic
// link, is not executable, is too large, has Windows line ends, or lacks a first line with its interpreter.
func Read(ctx context.Context, r *git.Repo, commit, path string) (s Script, found bool, err error) {
	if top, _, _ := strings.Cut(path, "/"); !r.MayContain(commit, top) {
		return s, false, ctx.Err()
	}
	out, err := r.Output(ctx, "ls-tree", "-z", "--full-tree", commit, "--", path)
	if err != nil {
		return s, false, err
	}
	list := parseTree(out)
	f, ok := list[path]
	if !ok {
		return s, false, nil
	}
	s = Script{Repository: r.Common, Path: path, Commit: commit}
	if s.Content, err = readProgram(ctx, r, &f); err != nil {
		return s, true, err
	}
	s.Files = []File{f}
	if err := s.follow(ctx, r); err != nil {
		return s, true, err
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	s.NamedHash = s.hash("the named files")
	if s.Hash = s.NamedHash; s.Why != "" {
		tree, err := r.Output(ctx, "rev-parse", "--verify", commit+"^{tree}")
		if err != nil {
			return s, true, err
		}
		s.Hash = s.hash("all files of " + strings.TrimSpace(string(tree)))
	}
	return s, true, nil
}

// hash returns a hash of the files and of `scope`. `scope` distinguishes a hash of only the named files from
// a hash of all files of a tree.
func (s Script) hash(scope string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "coleo script 1\n%q %q\n", s.Path, scope)
	for _, f := range s.Files {
		fmt.Fprintf(sum, "%s %s %q\n", f.Mode, f.Hash, f.Path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// parseTree parses the output of `git ls-tree -z`. It omits folders.
func parseTree(out []byte) map[string]File {
	list := map[string]File{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(about); len(f) == 3 && f[1] != "tree" {
			list[path] = File{Path: path, Mode: f[0], Blob: f[2]}
		}
	}
	return list
}

// readProgram returns the content of a script if the script can run. It also sets the hash of the
// file.
func readProgram(ctx context.Context, r *git.Repo, f *File) (string, error) {
	refuse := func(why string) error {
		return coleo.Errorf(coleo.EInvalid, "%s %s", f.Path, why)
	}
	switch f.Mode {
	case modeProgram:
	case modeFile:
		return "", refuse("has no permission to run: 'git update-index --chmod=+x " + printable.ShellWord(f.Path) +
			"' gives it, and commit that")
	default:
		return "", refuse("is not a regular file in the commit: replace it with one")
	}
	data, err := readBlob(ctx, r, f, maxScript)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(data, "\n")
	interpreter := strings.TrimSpace(strings.TrimPrefix(first, "#!"))
	switch {
	case strings.Contains(data, "\r"):
		return "", refuse("has the line ends of Windows, so it cannot run: store it with LF alone")
	case strings.ContainsRune(data, 0):
		return "", refuse("is not a text that a person can read")
	case !strings.HasPrefix(first, "#!") || !strings.HasPrefix(interpreter, "/"):
		return "", refuse("must begin with a line that names its interpreter by an absolute path, such as #!/bin/sh")
	}
	return data, nil
}

// readBlob returns the content of a file. It also sets the hash of the file.
func readBlob(ctx context.Context, r *git.Repo, f *File, most int64) (string, error) {
	out, err := r.Output(ctx, "cat-file", "-s", f.Blob)
	if err != nil {
		return "", err
	}
	if size, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil || size > most {
		return "", coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes, which nobody reads: make it smaller",
			f.Path, most)
	}
	data, err := r.Output(ctx, "cat-file", "blob", f.Blob)
	sum := sha256.Sum256(data)
	f.Hash = hex.EncodeToString(sum[:])
	return string(data), err
}

// hashBlob sets the hash of a file. The file may have any size.
func hashBlob(ctx context.Context, r *git.Repo, f *File) error {
	sum := sha256.New()
	_, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "blob", f.Blob}, Stdout: io.Writer(sum)})
	f.Hash = hex.EncodeToString(sum.Sum(nil))
	return err
}

// SameIn returns EForbidden if a tree or commit contains another version of the script, or of a
// file that the script names. An arm may have written that version.
func (s Script) SameIn(ctx context.Context, r *git.Repo, tree string) error {
	args := []string{"ls-tree", "-r", "-z", "--full-tree", tree, "--"}
	for _, f := range s.Files {
		args = append(args, f.Path)
	}
	out, err := r.Output(ctx, args...)
	if err != nil {
		return err
	}
	list := parseTree(out)
	for _, f := range s.Files {
		if now := list[f.Path]; now.Blob != f.Blob || now.Mode != f.Mode {
			return coleo.Errorf(coleo.EForbidden, "%s is not the same as in the commit %.12s, from which %s is taken", f.Path,
				s.Commit, s.Path)
		}
	}
	return nil
}
