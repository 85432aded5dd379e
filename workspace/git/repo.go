package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/paths"
)

// Repo is one work folder of a repository: the main work folder or a worktree. Several goroutines may call its
// methods at the same time. Close the Repo after use.
type Repo struct {
	// Work is the top folder of the work folder. Git is the work folder's own folder for HEAD and
	// the index. Common is the folder with the objects and the refs. All three paths are absolute
	// and contain no symbolic links. In the main work folder, Git and Common are the same.
	Work, Git, Common string

	program Program
	standIn string // the folder that git uses in place of Common
	main    string // the common folder of the user's repository, if this is a clone of that repository; otherwise ""

	ignores string // the git folder whose list of ignored files applies in a clone; "" means the clone's own

	settings []setting // the harmless settings of the repository
}

// Open opens the repository that contains the folder `dir`. It looks for .git in `dir` and in the folders above it.
// Bare repositories are never opened, because they contain no .git. Open returns ENotFound if `dir` is in no
// repository. It returns EInvalid if .git is broken, or points to the git folder of another work folder.
func (p Program) Open(ctx context.Context, dir string) (*Repo, error) {
	work, err := filepath.EvalSymlinks(dir)
	if err == nil {
		work, err = filepath.Abs(work)
	}
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "%s is not a folder: %w", dir, err)
	}
	for {
		if _, err := os.Lstat(filepath.Join(work, ".git")); err == nil {
			break
		}
		above := filepath.Dir(work)
		if above == work {
			return nil, coleo.Errorf(coleo.ENotFound, "%s is not in a git repository", dir)
		}
		work = above
	}
	gitDir, err := followGit(work)
	if err != nil {
		return nil, err
	}
	return p.OpenAt(ctx, work, gitDir)
}

// OpenAt opens a work folder whose git folder the caller already knows. It does not read the .git of the work
// folder, because an arm can change it.
func (p Program) OpenAt(ctx context.Context, work, gitDir string) (*Repo, error) {
	return p.openAt(ctx, work, gitDir, Clone{})
}

func (p Program) openAt(ctx context.Context, work, gitDir string, c Clone) (*Repo, error) {
	common, err := commonOf(gitDir)
	if err != nil {
		return nil, err
	}
	r := &Repo{Work: work, Git: gitDir, Common: common, program: p, main: c.Main, ignores: c.Ignores}
	for _, dir := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, dir)); err != nil || !info.IsDir() {
			return nil, coleo.Errorf(coleo.EInvalid, "%s is not a git repository: it has no folder %s", common, dir)
		}
	}
	if err := r.makeStandIn(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// followGit returns the git folder of a work folder.
func followGit(work string) (string, error) {
	path := filepath.Join(work, ".git")
	info, err := os.Stat(path)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "%s leads nowhere: %w", path, err)
	}
	if info.IsDir() {
		dir, err := filepath.EvalSymlinks(path)
		return dir, errors.Join(err, checkNoCommondir(dir))
	}
	line, err := readLine(path)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok {
		return "", coleo.Errorf(coleo.EInvalid, "%s names no git folder", path)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(work, dir)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return "", coleo.Errorf(coleo.EInvalid, "%s names a git folder that does not exist: %w", path, err)
	}
	return dir, checkBacklink(path, dir)
}

// checkNoCommondir returns EInvalid if a git folder uses the objects and refs of another git folder. An arm can make
// such a git folder to lead Coleo into another repository. But git itself also makes one for each worktree, so `dir`
// must not be the git folder of a worktree.
func checkNoCommondir(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return coleo.Errorf(coleo.EInvalid, "%s names another repository in its file commondir: git is not run there", dir)
	}
	return nil
}

// checkBacklink returns an error if the git folder that the file at `path` names belongs to another worktree.
// Without this check, a changed .git could lead Coleo into another repository of the user.
func checkBacklink(path, gitDir string) error {
	back, err := readLine(filepath.Join(gitDir, "gitdir"))
	if errors.Is(err, fs.ErrNotExist) { // this is a submodule, or a repository whose git folder is elsewhere
		return checkNoCommondir(gitDir)
	}
	if err != nil {
		return err
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(gitDir, back)
	}
	named, err := os.Stat(back)
	own, ownErr := os.Stat(path)
	if err != nil || ownErr != nil || !os.SameFile(named, own) {
		return coleo.Errorf(coleo.EInvalid,
			"%s points to %s, which belongs to %s: if you moved the worktree, run 'git worktree repair'", path, gitDir, back)
	}
	return nil
}

// commonOf returns the folder with the objects and refs that belong to a git folder.
func commonOf(gitDir string) (string, error) {
	common, err := readLine(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.EvalSymlinks(gitDir)
	}
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return filepath.EvalSymlinks(common)
}

// maxLine is the size of the largest file that is read for a single path, in bytes. A path has at most 4096
// bytes.
const maxLine = 8 << 10

func readLine(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", coleo.Errorf(coleo.EInvalid, "%s is not a file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(bytes.TrimRight(data, "\r\n")), nil
}

// linked lists the files and folders of a repository's common folder that git may use. The folder that git uses in
// place of the common folder contains links to them. Some of them may be missing, and then git creates them through
// the link. The list contains neither the configuration nor the hooks, so git does not use them.
var linked = []string{"HEAD", "objects", "refs", "packed-refs", "reftable", "logs", "shallow", "info", "worktrees",
	"modules", "lfs", "rebase-merge", "rebase-apply", "BISECT_LOG"}

// makeStandIn makes the stand-in, a temporary folder that git uses in place of the common folder. It contains
// links to the files and folders in `linked`, and a configuration that has only harmless settings.
func (r *Repo) makeStandIn(ctx context.Context) error {
	settings, err := r.readSettings(ctx)
	if err != nil {
		return err
	}
	r.standIn, err = os.MkdirTemp(r.program.scratch, "git-")
	if err != nil {
		return fmt.Errorf("make a folder for git: %w", err)
	}
	for _, name := range linked {
		if err := r.link(name); err != nil {
			return err
		}
	}
	if err := errors.Join(r.stays(filepath.Join(r.Git, "index")), r.checkRefs()); err != nil {
		return err
	}
	r.settings = settings
	config := writeSettings(r.settings)
	return os.WriteFile(filepath.Join(r.standIn, "config"), config, 0o600)
}

// readSettings returns the harmless settings of the repository.
func (r *Repo) readSettings(ctx context.Context) ([]setting, error) {
	settings, err := r.program.readHarmless(ctx, filepath.Join(r.Common, "config"))
	if err != nil {
		return nil, err
	}
	if r.main != "" {
		return r.cloneSettings(ctx, settings)
	}
	own, err := r.program.readHarmless(ctx, filepath.Join(r.Git, "config.worktree"))
	return append(settings, own...), err
}

// link makes a link to one of the names in `linked`. The link is in the stand-in, the folder that git uses in place
// of the common folder.
func (r *Repo) link(name string) error {
	target := filepath.Join(r.Common, name)
	if err := r.stays(target); err != nil {
		return err
	}
	if r.main != "" && name == "info" {
		return r.linkInfo()
	}
	if err := os.Symlink(target, filepath.Join(r.standIn, name)); err != nil {
		return fmt.Errorf("make a folder for git: %w", err)
	}
	return nil
}

// stays returns an error if a file of the git folder is a symbolic link to a place outside. Git would write to
// that place.
func (r *Repo) stays(path string) error {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil && (paths.Within(r.Common, real) || paths.Within(r.Git, real)) {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "%s is a symbolic link out of the git folder: git is not run in this repository",
		path)
}

// Close removes what Open has made. It does not change the repository.
func (r *Repo) Close() {
	if r.standIn != "" {
		os.RemoveAll(r.standIn)
	}
}

// ObjectFormat returns the format of the object ids: sha1 or sha256.
func (r *Repo) ObjectFormat() string {
	format := "sha1"
	for _, s := range r.settings {
		if s.key == "extensions.objectformat" {
			format = strings.ToLower(s.value)
		}
	}
	return format
}
