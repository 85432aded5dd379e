package changes

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func TestACommentThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	full := make([]Comment, MaxComments)
	long := strings.Repeat("x", MaxComment)
	var large []Comment
	for range MaxCommentPrompt/MaxComment - 1 {
		large = append(large, Comment{Path: "f", Line: 1, Text: long})
	}
	for name, c := range map[string]struct {
		list []Comment
		one  Comment
		code coleo.Code
	}{
		"it is good":              {nil, Comment{Path: "f", Line: 1, Text: " x "}, ""},
		"it has no file":          {nil, Comment{Line: 1, Text: "x"}, coleo.EInvalid},
		"it has no line":          {nil, Comment{Path: "f", Text: "x"}, coleo.EInvalid},
		"it has no text":          {nil, Comment{Path: "f", Line: 1, Text: " \n"}, coleo.EInvalid},
		"it is too long":          {nil, Comment{Path: "f", Line: 1, Text: long + "x"}, coleo.EInvalid},
		"there are too many":      {full, Comment{Path: "f", Line: 1, Text: "x"}, coleo.EConflict},
		"all together are long":   {large, Comment{Path: "f", Line: 1, Text: long}, coleo.EConflict},
		"it has the longest text": {nil, Comment{Path: "f", Line: 1, Text: long}, ""},
	} {
		got, err := AddComment(c.list, c.one)
		if coleo.ErrorCode(err) != c.code || (err == nil) != (len(got) == len(c.list)+1) {
			t.Errorf("%s: %v, %d comments", name, err, len(got))
		}
	}
}

func TestAllCommentsAreInThePrompt(t *testing.T) {
	t.Parallel()
	got := CommentPrompt([]Comment{{Path: "a.go", Line: 3, Text: "why?"}, {Path: "b\n.go", Line: 7, Text: "two\nlines"}})
	want := "Comments on your changes. Please go through all of them:\n\na.go:3\nwhy?\n\n\"b\\n.go\":7\ntwo\nlines\n"
	if got != want {
		t.Errorf("the prompt is %q, want %q", got, want)
	}
}

func TestACheckpointIsReadFromItsMessage(t *testing.T) {
	t.Parallel()
	n := 3
	want := Checkpoint{Reason: AfterRestore, Run: "r", From: &n, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Left: []Left{LeaveOut("a\n\xff\"", "too \"large\""), LeaveOut("b", "x")}}
	got, ok := ReadMessage(Message(want))
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v became %+v", want, got)
	}
	if _, ok := ReadMessage("a commit of somebody else\n\nRun: r\n"); ok {
		t.Error("another commit is read as a checkpoint")
	}
}

func TestAPatchThatGitDidNotFinishEndsBeforeItsLastFile(t *testing.T) {
	t.Parallel()
	one := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ func x\n-diff --git\n+@@ -1 +1 @@\n+y\n"
	if got := string(CutPatch([]byte(one + "diff --git a/y b/y\nnew fi"))); got != one {
		t.Errorf("the rest is %q", got)
	}
	if got := CutPatch([]byte(one)); len(got) != 0 {
		t.Errorf("one file that is not whole leaves %q", got)
	}
	parts := partsOf([]byte(one))
	if len(parts) != 1 || len(parts[0].hunks) != 1 || parts[0].hunks[0].Section != "func x" ||
		parts[0].hunks[0].NewLines != 2 {
		t.Errorf("the parts are %+v", parts)
	}
}

// FuzzParse parses arbitrary data as git's output. Parsing may return an error, but must not panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("1 .M N... 100644 100644 100644 a b c\x00? d\x00"))
	f.Add([]byte(":100644 100644 a b M\x00c\x00\x001\t2\tc\x00"))
	f.Add([]byte("diff --git a/x b/x\n@@ -1 +1 @@\n+x\n"))
	f.Fuzz(func(_ *testing.T, out []byte) {
		_, _ = ParseStatus(out)
		entries, lines, _, _ := ParseRaw(out)
		d := Diff{Patch: CutPatch(out)}
		for _, file := range Assemble(entries, lines, d.Patch, nil, nil) {
			for _, h := range file.Hunks {
				d.NewLines(h)
			}
		}
		ReadMessage(string(out))
	})
}

func TestAFolderThatGitCannotReadIsLeftOut(t *testing.T) {
	t.Parallel()
	var s Status
	s.AddWarnings("warning: CRLF will be replaced\nwarning: could not open directory 'a/it's/': Permission denied\n")
	if len(s.Unread) != 1 || s.Unread[0].Path != "a/it's/" || s.Unread[0].Why != "it cannot be read: permission denied" {
		t.Errorf("left out: %+v", s.Unread)
	}
}
