package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The code in this file answers questions about refs from the files of the repository, if possible. It avoids
// starting git, because for most of these questions a start takes longer than all other work.

const branches = "refs/heads/"

// mayHaveBytes is the size in bytes of the largest file of packed refs that MayHave reads.
const mayHaveBytes = 16 << 20

// MayHave reports whether the common folder can have a ref, such as refs/stash. If the result is true, only git
// knows whether the ref exists.
func (r *Repo) MayHave(ref string) bool {
	for _, name := range []string{ref, "reftable"} {
		if _, err := os.Lstat(filepath.Join(r.Common, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	packed, err := ReadRegular(filepath.Join(r.Common, "packed-refs"), mayHaveBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || len(packed) == mayHaveBytes || bytes.Contains(packed, []byte(ref))
}

// wholeID matches the id of an object, as SHA-1 or SHA-256.
var wholeID = regexp.MustCompile(`^([0-9a-f]{64}|[0-9a-f]{40})$`)

// loose reads the file of a branch, and returns the id of the branch's commit. It returns "" if the branch has
// no file of its own, or if the branch is a symbolic ref. It does not check whether the commit exists.
func (r *Repo) loose(branch string) string {
	if !strings.HasPrefix(branch, branches) || !filepath.IsLocal(branch) || filepath.Clean(branch) != branch {
		return ""
	}
	// ReadRegular refuses a symbolic link, which git treats as a symbolic ref.
	data, err := ReadRegular(filepath.Join(r.Common, branch), maxLine)
	line := strings.TrimSuffix(string(data), "\n")
	if err != nil || !wholeID.MatchString(line) {
		return ""
	}
	return line
}

// LooseTip returns the commit of the checked-out branch, if the branch has a file of its own. Otherwise it returns
// "".
func (r *Repo) LooseTip() string { return r.loose(r.Head()) }

// IsSymbolic reports whether a branch is a symbolic ref to another ref. The branch is a ref, such as
// refs/heads/NAME.
func (r *Repo) IsSymbolic(ctx context.Context, branch string) bool {
	if r.loose(branch) != "" {
		return false
	}
	_, err := r.Output(ctx, "symbolic-ref", "--quiet", branch)
	return err == nil
}

// plainName matches only simple names, which git always accepts as the name of a branch.
var plainName = regexp.MustCompile(`^[a-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*$`)

// CanBeBranch reports whether git accepts a name as the name of a branch. The name is without refs/heads/.
func (r *Repo) CanBeBranch(ctx context.Context, name string) bool {
	if plainName.MatchString(name) {
		return true
	}
	if strings.HasPrefix(name, "-") || name == "HEAD" {
		return false
	}
	_, err := r.Output(ctx, "check-ref-format", branches+name)
	return err == nil
}
