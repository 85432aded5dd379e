package changes

import (
	"strings"
	"testing"

	"coleo.dev/changes"
	"coleo.dev/workspace/pull"
)

func TestM28PrintedCommandsAreQuotedForAShell(t *testing.T) {
	t.Parallel()
	const repo, word = "my lib; id", "--repo 'my lib; id'"
	m := changes.Merged{MergeFrom: changes.MergeFrom{Repo: repo, Branch: "b", Into: "main"},
		Conflicts: []changes.Conflict{changes.NewConflict("file", "contents", "")}}
	for what, c := range map[string]struct{ text, want string }{
		"conflicts": {mergedText("fix", changes.MergeRequest{}, m, false),
			"coleo arm merge fix " + word + " --ask-arm"},
		"tries are used up": {watchedText("fix", repo, pull.Watched{End: pull.EndTries}),
			"'coleo arm watch-pr fix " + word + "'"},
		"of one repository": {watchedText("fix", "", pull.Watched{End: pull.EndTries}), "'coleo arm watch-pr fix'"},
		"a prompt of an arm": {changes.MergePrompt(changes.Merged{MergeFrom: changes.MergeFrom{Into: "a$b"}}),
			"(git merge 'a$b')"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s: %q lacks %s", what, c.text, c.want)
		}
	}
}
