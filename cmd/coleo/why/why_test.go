package why

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/graph"
	"coleo.dev/pty"
)

func TestTheQuestionHasTheLineAndTheRealPath(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file, link := filepath.Join(dir, "a:b.go"), filepath.Join(dir, "link")
	for _, err := range []error{os.WriteFile(file, []byte("one\r\n\ttwo\n\ttwo"), 0o600), os.Symlink("a:b.go", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string]struct {
		text  string
		same  int
		paths []string
	}{
		file + ":1": {"one", 1, []string{file}}, file + ":2": {"\ttwo", 2, []string{file}},
		link + ":3": {"\ttwo", 2, []string{link, file}},
	} {
		q, same, err := parseQuestion(arg)
		if err != nil || q.Text != want.text || same != want.same || !slices.Equal(q.Paths, want.paths) {
			t.Errorf("%s: %+v, %d, %v", arg, q, same, err)
		}
	}
	for arg, want := range map[string]string{
		file + ":4": "its last line is 3", file: "is not a file and a line", file +
			":0": "is not a file and a line", ":1": "is not a file and a line",
		dir + ":1": "is not a file", filepath.Join(dir, "none") + ":1": "no such file",
	} {
		_, _, err := parseQuestion(arg)
		if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

func full() graph.Answer {
	at := time.Date(2026, 1, 2, 3, 4, 5, 60e6, time.UTC)
	long := strings.Repeat("long words ", 30)
	return graph.Answer{
		Path: "/w/a.go", Line: 7, Text: "\t" + long, Certainty: graph.Wrote, Note: "this call wrote exactly this line",
		Arm: "id", ArmName: "fix",
		Run: &graph.Node{ID: "R1", Prompt: &graph.Prompt{Text: "do\x1b[31m it\n" + long, Offset: 4096}},
		Call: &graph.Node{ID: "R1/c", Turn: 2, Start: at, End: at, Call: &graph.Call{Name: "Write",
			Files: []string{"/w/a.go"}}},
		Approval: &graph.Node{Start: at, Approval: &graph.Approval{Choice: coleo.ChoiceApprove,
			Matched: graph.MatchOrder}},
		Approver: &coleo.Caller{Kind: coleo.CallerCookie, ID: "b1"}, ApproverMatched: "time", Generation: 3,
		Possible: []graph.Mention{{Command: "sed " + long, Time: at}},
	}
}

func TestTheAnswerTellsEverythingIn80Columns(t *testing.T) {
	t.Parallel()
	out := answer(full(), "a.go:7", 2, full().Call.Start.Add(90*time.Second))
	for _, want := range []string{"a.go:7: long words", "This call wrote exactly this line.",
		"2 lines of the file have this text",
		"prompt    do[31m it long", "call      Write: /w/a.go (turn 2)", "(1m ago)", "by browser b1, by the time", "by " +
			"the order alone",
		"coleo arm screen fix --at 2026-01-02T03:04:05.060Z", "byte 4096 of the recording of start 3", "coleo run graph R1",
		"Commands that name the file", "sed long"} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := pty.Cells(strings.TrimSuffix(line, "\n")); n > 80 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("%d cells: %q", n, line)
		}
	}
}

func TestAnAnswerWithoutACallSaysSo(t *testing.T) {
	t.Parallel()
	out := answer(graph.Answer{Certainty: graph.Nothing, Note: "no call is known"}, "a.go:7", 1, time.Now())
	if want := "a.go:7:\nNo call is known."; out != want {
		t.Errorf("the answer is %q, want %q", out, want)
	}
	gone := full()
	gone.ArmName, gone.Approval = "", nil
	out = answer(gone, "a.go:7", 1, time.Now())
	if strings.Contains(out, "arm screen") || !strings.Contains(out, "id (removed)") ||
		!strings.Contains(out, "no approval is known") {
		t.Errorf("the answer for an arm that is gone is\n%s", out)
	}
}

func TestAnApprovalOfAPolicyNamesItsRule(t *testing.T) {
	t.Parallel()
	a := graph.Answer{Approval: &graph.Node{Approval: &graph.Approval{Choice: coleo.ChoiceApprove,
		Policy: "user: preset read"}}}
	if got := approvalText(a); !strings.Contains(got, "by the policy (user: preset read)") {
		t.Errorf("the approval is %q", got)
	}
}
