package merge_test

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/changes"
)

// TestARebaseOfACommitWithoutAnAuthorSaysSo: other programs than git can make a commit whose author has no name, or a
// name such as "." that git refuses. The error must not say that the user has no name.
func TestARebaseOfACommitWithoutAnAuthorSaysSo(t *testing.T) {
	t.Parallel()
	for _, author := range []string{"", "."} {
		s, w := newArm(t, false)
		s.commit(w, "file", "changed\n", "change")
		text := s.Git(w.Path, "cat-file", "commit", "HEAD") + "\n"
		s.Write(filepath.Join(s.Root, "commit"), strings.Replace(text, "author Arm ", "author "+author+" ", 1))
		id := s.Git(w.Path, "hash-object", "-t", "commit", "--literally", "-w", filepath.Join(s.Root, "commit"))
		s.Git(w.Path, "reset", "-q", "--hard", id)
		s.onBase("other", "other\n", "person's")
		_, err := s.merge(w, changes.MergeRequest{Way: changes.WayRebase})
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), "has no name of an author") ||
			!strings.Contains(err.Error(), id[:12]) {
			t.Errorf("with the author %q, the error is %v", author, err)
		}
		s.merged(w, changes.MergeRequest{})
	}
}
