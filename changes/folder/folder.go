// Package folder computes what changed in an arm's folder, and makes and restores checkpoints of its files.
//
// It runs git only through package workspace/git. It never changes the repository's index, branches or stash. A
// diff writes its objects to a separate folder. A checkpoint writes objects, and a ref below refs/coleo. Only a
// restore changes files.
//
// Package folder knows nothing about arms: its callers pass a folder, an id and a time.
package folder

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"coleo.dev"
	"coleo.dev/changes"
	"coleo.dev/paths"
	"coleo.dev/workspace/git"
)

// Folder is a folder in a repository. Close it after use.
type Folder struct {
	repo   *git.Repo
	clone  git.Clone // set if the repository is the clone of an arm
	main   *git.Repo // the repository from which the clone was made; nil if there is no clone
	dir    string    // the folder, without symbolic links
	asked  string    // the folder as the caller names it
	files  *os.Root  // the top folder of the repository
	own    string    // a temporary folder for this Folder's index and objects
	format string    // the repository's object format, sha1 or sha256

	below     string // the prefix of the paths in a patch: "" or a folder that ends with a slash
	indexes   *Indexes
	snapshots bool // a diff always stores the files before git compares them; only tests set it
}

// Open opens the repository that contains the folder `dir`. The temporary files are below the folder `tempDir`. If
// `tempDir` is "", they are in the system's temporary folder. Open returns EUnsupported if no repository contains
// `dir`.
func Open(ctx context.Context, program git.Program, dir, tempDir string) (*Folder, error) {
	return open(ctx, program, git.Clone{}, dir, tempDir)
}

// OpenerOf returns a function like Open, for folders in an arm's clone. The arm can write to the clone's git folder.
// So a Folder takes neither the base of a diff nor git's settings from there. The returned function fails with
// EUnsupported if the .git of a folder leads to another git folder than the clone's.
func OpenerOf(c git.Clone) func(ctx context.Context, program git.Program, dir, tempDir string) (*Folder, error) {
	return func(ctx context.Context, program git.Program, dir, tempDir string) (*Folder, error) {
		return open(ctx, program, c, dir, tempDir)
	}
}

func open(ctx context.Context, program git.Program, c git.Clone, dir, tempDir string) (*Folder, error) {
	repo, err := openRepository(ctx, program, c, dir)
	if coleo.ErrorCode(err) == coleo.ENotFound {
		return nil, coleo.Errorf(coleo.EUnsupported, "%s is not in a git repository, so its changes are not known", dir)
	}
	if err != nil {
		return nil, err
	}
	f := &Folder{repo: repo, clone: c, asked: filepath.Clean(dir), format: repo.ObjectFormat()}
	if c.Begin != "" {
		if f.main, err = program.OpenAt(ctx, c.Main, c.Main); err != nil {
			repo.Close()
			return nil, err
		}
	}
	if emptyTree[f.format] == "" {
		f.Close()
		return nil, coleo.Errorf(coleo.EUnsupported, "%s has objects of the format %q, which Coleo does not know",
			repo.Work, f.format)
	}
	if f.dir, err = filepath.EvalSymlinks(dir); err == nil {
		f.files, err = os.OpenRoot(repo.Work)
	}
	if err == nil {
		f.own, err = os.MkdirTemp(tempDir, "changes-")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func openRepository(ctx context.Context, program git.Program, c git.Clone, dir string) (*git.Repo, error) {
	repo, err := program.Open(ctx, dir)
	if err != nil || c.Git == "" {
		return repo, err
	}
	repo.Close()
	if repo.Git != c.Git { // the arm has changed its .git, or works in another repository within its clone
		return nil, coleo.Errorf(coleo.EUnsupported, "the .git of %s does not point to %s, the git folder of the "+
			"arm's clone: git is not run there", dir, c.Git)
	}
	// In a clone, the ignore rules of the main repository apply. Otherwise an arm could hide files
	// with ignore rules in its own git folder.
	c.Work, c.Ignores = repo.Work, c.Main
	return program.OpenClone(ctx, c)
}

// Using makes the Folder keep its copies of large indexes in x. It returns the same Folder.
func (f *Folder) Using(x *Indexes) *Folder {
	f.indexes = x
	return f
}

// Below makes the paths in the Folder's patches begin with the given folder name. It returns the same Folder.
func (f *Folder) Below(name string) *Folder {
	f.below = name + "/"
	return f
}

// Close removes the temporary files.
func (f *Folder) Close() {
	f.repo.Close()
	if f.main != nil {
		f.main.Close()
	}
	if f.files != nil {
		f.files.Close()
	}
	if f.own != "" {
		os.RemoveAll(f.own)
	}
}

// Root returns the top folder of the repository, without symbolic links.
func (f *Folder) Root() string { return f.repo.Work }

// alias returns the top folder's path with the symbolic links of the caller's path. If the caller's path
// contains no links, alias returns "".
func (f *Folder) alias() string {
	below, _ := cutDir(f.dir, f.Root())
	top := f.asked
	if below != "." {
		top = strings.TrimSuffix(f.asked, "/"+below)
	}
	if top == f.Root() || top == f.asked && below != "." {
		return ""
	}
	return top
}

// emptyTree maps each object format to the id of the tree without files. Git knows this id even if the
// repository contains no such object.
var emptyTree = map[string]string{
	"sha1":   "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
	"sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}

// noID returns the id that git uses for a missing object. This id consists of zeros.
func (f *Folder) noID() string { return strings.Repeat("0", len(emptyTree[f.format])) }

// status asks git for the changes since HEAD.
func (f *Folder) status(ctx context.Context) (changes.Status, error) {
	s, _, err := f.indexes.status(ctx, f)
	return s, err
}

// commit returns the id of the commit for which `name` stands, such as HEAD or a ref. It returns "" if there
// is no such commit.
func (f *Folder) commit(ctx context.Context, name string) (string, error) {
	return commitOf(ctx, f.repo, name)
}

func commitOf(ctx context.Context, r *git.Repo, name string) (string, error) {
	if commit := r.LooseCommit(name); commit != "" {
		return commit, ctx.Err()
	}
	out, err := r.Output(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// relativePaths converts the caller's paths to paths relative to Root. It returns EInvalid for a
// path that is not below Root.
func (f *Folder) relativePaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		full := p
		if rel, ok := cutDir(p, f.asked); ok {
			full = filepath.Join(f.dir, rel)
		} else if !filepath.IsAbs(p) {
			full = filepath.Join(f.dir, p)
		}
		rel, ok := cutDir(full, f.Root())
		if !ok {
			return nil, coleo.Errorf(coleo.EInvalid, "%s is not below %s", p, f.Root())
		}
		out = append(out, rel)
	}
	return out, nil
}

// cutDir returns the path relative to `dir`. It returns false if the path is not in `dir`.
func cutDir(path, dir string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	return paths.Cut(dir, path)
}

// covers reports whether `paths` contains the path or a folder above it. An empty list covers every path.
func covers(paths []string, path string) bool {
	for _, p := range paths {
		if p == "." || p == path || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return len(paths) == 0
}
