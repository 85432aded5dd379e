package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
)

// Fetch describes which ref to fetch from another repository.
type Fetch struct {
	URL string // as in Push
	Ref string // the full name, such as refs/pull/12/head, or the id of a commit
	// ForSubmodule says that the URL comes from a submodule, and that no person has chosen it. For such a URL, git uses
	// only the protocols that the user's configuration always permits (see protocol.allow in git-config).
	ForSubmodule bool
	// Environ is the same as in Push.
	Environ []string
}

// Fetch fetches a ref with everything that it contains, and returns the id of its object. It makes no ref
// and no FETCH_HEAD in this repository. It runs no hook of this repository and asks nobody for a
// password. Fetch returns ENotFound if the other repository has no such ref.
func (r *Repo) Fetch(ctx context.Context, f Fetch) (string, error) {
	if err := checkURL(f.URL, "nothing was fetched"); err != nil {
		return "", err
	}
	if !strings.HasPrefix(f.Ref, "refs/") && !IsObjectID(f.Ref) || strings.ContainsAny(f.Ref, ":*^") ||
		strings.ContainsFunc(f.Ref, isControl) {
		return "", coleo.Errorf(coleo.EInternal, "%.200q cannot be fetched", f.Ref)
	}
	own, err := os.MkdirTemp(r.standIn, "fetch-") // git writes FETCH_HEAD to this folder
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(own, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return "", err
	}
	env := append(r.program.networkEnvironment(f.Environ), "GIT_DIR="+own, "GIT_COMMON_DIR="+r.standIn)
	if f.ForSubmodule {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, "GIT_ALLOW_PROTOCOL=") })
		env = append(env, "GIT_PROTOCOL_FROM_USER=0")
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-show-forced-updates", "--refmap=", "--", f.URL, f.Ref}
	_, err = r.program.run(ctx, call{args: args, dir: own, gitDirs: r.gitDirs(), env: env, most: maxStderr})
	if said := (*Error)(nil); errors.As(err, &said) && strings.Contains(said.Stderr, "couldn't find remote ref") {
		return "", coleo.Errorf(coleo.ENotFound, "the other repository has no %s", f.Ref)
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(own, "FETCH_HEAD"))
	id, _, _ := strings.Cut(string(data), "\t")
	if err != nil || !IsObjectID(id) {
		return "", coleo.Errorf(coleo.EInternal, "git fetch printed nothing about %s: %.200q", f.Ref, data)
	}
	return id, nil
}

// IsObjectID reports whether a text is the full id of an object, in the format SHA-1 or SHA-256.
func IsObjectID(text string) bool {
	const sha1, sha256 = 40, 64
	return (len(text) == sha1 || len(text) == sha256) && strings.Trim(text, "0123456789abcdef") == ""
}
