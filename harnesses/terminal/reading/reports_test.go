package reading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
)

func TestAnswersBelongToTheirPrompts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines []string
		want  string // the answers to the prompts one, two and three
	}{
		"one after the other": {[]string{
			`{"event":"Prompt","turn":"a","prompt":"one"}`, `{"event":"Stop","turn":"a","answer":"1"}`,
			`{"event":"Prompt","turn":"b","prompt":"two"}`, `{"event":"Stop","turn":"b","answer":"2"}`}, "1 2 -"},
		"a queued prompt bears the name of the running turn": {[]string{
			`{"event":"Prompt","turn":"a","prompt":"one"}`, `{"event":"Prompt","turn":"a","prompt":"two"}`,
			`{"event":"Stop","turn":"a","answer":"1"}`, `{"event":"Stop","turn":"new","answer":"2"}`}, "1 2 -"},
		"two are queued, and whose answer it is cannot be told": {[]string{
			`{"event":"Prompt","turn":"a","prompt":"one"}`, `{"event":"Prompt","turn":"a","prompt":"two"}`,
			`{"event":"Prompt","turn":"a","prompt":"three"}`,
			`{"event":"Stop","turn":"a","answer":"1"}`, `{"event":"Stop","turn":"new","answer":"2"}`}, "1 - -"},
		"the turn of a queued prompt runs while the next one is queued": {[]string{
			`{"event":"Prompt","turn":"a","prompt":"one"}`, `{"event":"Prompt","turn":"a","prompt":"two"}`,
			`{"event":"Stop","turn":"a","answer":"1"}`, `{"event":"Prompt","turn":"b","prompt":"three"}`,
			`{"event":"Stop","turn":"b","answer":"2"}`, `{"event":"Stop","turn":"c","answer":"3"}`}, "1 - -"},
		"an interrupted turn has no answer": {[]string{
			`{"event":"Prompt","turn":"a","prompt":"one"}`, `{"event":"Prompt","turn":"b","prompt":"two"}`,
			`{"event":"Stop","turn":"b","answer":"2"}`}, "- 2 -"},
		"without names, the only open one": {[]string{
			`{"event":"Prompt","prompt":"one"}`, `{"event":"Stop","answer":"1"}`, `{"event":"Prompt","prompt":"two"}`,
			`{"event":"Stop","answer":"2"}`}, "1 2 -"},
		"the report of the end names the prompt": {[]string{
			`{"event":"Both","said":["before","one"],"answer":"1"}`,
			`{"event":"Both","said":["give it a title"],"answer":"A title"}`}, "1 - -"},
		"an answer to nothing": {[]string{`{"event":"Stop","answer":"0"}`, `{"event":"Both","said":[],"answer":"0"}`,
			`{"event":"Prompt","prompt":"one"}`}, "- - -"},
		"pastes and blanks": {[]string{`{"event":"Prompt","prompt":"\n\n<paste>o ne\n</paste>"}`,
			`{"event":"Stop","answer":"1"}`}, "1 - -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			sent := b.now
			for _, l := range tt.lines {
				b.reports(l)
				b.now = b.now.Add(time.Second)
			}
			var got []string
			for _, prompt := range []string{"one", "two", "three"} {
				answer := "-"
				if turn := b.r.hook.turnOf(prompt, sent); turn != nil && turn.answer != "" {
					answer = turn.answer
				}
				got = append(got, answer)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("answers %q, want %q", got, tt.want)
			}
			if b.r.hook.turnOf("one", b.now) != nil {
				t.Error("a report proves a prompt that was sent after it")
			}
		})
	}
}

// A queued prompt bears the id of the turn that is running. Only the record shows the id of the prompt's own turn.
func TestTheRecordNamesTheTurnsOfQueuedPrompts(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"at once": false, "after the next prompt": true} {
		b := newBench(t)
		sent := b.now
		b.reports(`{"event":"Prompt","turn":"a","prompt":"one"}`).prompted("a", "one", true)
		b.reports(`{"event":"Prompt","turn":"a","prompt":"two"}`)
		b.reports(`{"event":"Stop","turn":"a","answer":"1"}`)
		if !late {
			b.prompted("b", "two", true)
		}
		b.reports(`{"event":"Prompt","turn":"b","prompt":"three"}`)
		if late {
			b.prompted("b", "two", true)
		}
		b.reports(`{"event":"Stop","turn":"b","answer":"2"}`).prompted("c", "three", true)
		b.reports(`{"event":"Stop","turn":"c","answer":"3"}`)
		for prompt, want := range map[string]string{"one": "1", "two": "2", "three": "3"} {
			if got := b.r.HookAnswer(prompt, sent); got != want {
				t.Errorf("%s: the answer to %s is %q, want %q", name, prompt, got, want)
			}
		}
	}
}

func TestWhatIsRememberedOfAHookIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 3 * maxReports {
		b.reports(fmt.Sprintf(`{"event":"Prompt","prompt":"p%d"}`, i)).reports(`{"event":"Tool","tool":"T","input":{}}`)
	}
	w := &b.r.hook
	if len(w.prompts) != maxReports || len(w.tools) != maxReports ||
		w.turnOf(fmt.Sprintf("p%d", 3*maxReports-1), time.Time{}) == nil {
		t.Errorf("%d prompts and %d tools are kept", len(w.prompts), len(w.tools))
	}
}

// dialog draws the rows of a dialog, with or without its upper edge.
func dialog(edge bool, rows ...string) string {
	if edge {
		rows = append([]string{"====="}, rows...)
	}
	return "\x1b[2J\x1b[H" + strings.Join(append(rows, "Run it?", "y/n"), "\r\n")
}

func TestASubjectThatIsCutOffComesFromTheHook(t *testing.T) {
	t.Parallel()
	const bash = `{"event":"Tool","tool":"Bash","input":{"command":"one\ntwo\nthree","description":"count"}}`
	const edit = `{"event":"Tool","tool":"Edit","input":{"file":"x","old":"was\ngone","new":"is\nhere","all":false,` +
		`"n":12345678901,"list":[{"a":"b"}]}}`
	const fullEdit = "Edit\nfile: x\nold:\nwas\ngone\nnew:\nis\nhere\nall: false\nn: 12345678901\na: b"
	for name, tt := range map[string]struct {
		report string
		screen string
		want   string
		cut    bool
	}{
		"all of it is shown": {bash, dialog(true, "one", "two", "three"), "one\ntwo\nthree", false},
		"its beginning is not": {bash, dialog(false, "two", "three"),
			"Bash\ncommand:\none\ntwo\nthree\ndescription: count", false},
		"its end is not": {bash, dialog(true, "one", "tw…"),
			"Bash\ncommand:\none\ntwo\nthree\ndescription: count", false},
		"the hook said nothing":      {`{"event":"Prompt"}`, dialog(false, "two", "three"), "two\nthree", true},
		"the hook spoke of another":  {bash, dialog(false, "two", "four"), "two\nfour", true},
		"nothing of it is shown":     {bash, dialog(false, "", " "), "", true},
		"rows that are not together": {bash, dialog(false, "one", "three"), "one\nthree", true},
		"what would act on a terminal": {`{"event":"Tool","tool":"T\u001b[2J",` +
			`"input":{"c\u0007":"one\u001b]0;x\u0007\r\ntwo\u202e"}}`, dialog(false, "two"),
			"T[2J\nc:\none]0;x\ntwo", false},
		"changes among what stays": {edit, dialog(false, "1 stays", "2 - was", "3 + is", "4 stays", "5 - gone",
			"6 + here"), fullEdit, false},
		"changes that are not in it": {edit, dialog(false, "1 stays", "2 - was", "3 + other"),
			"1 stays\n2 - was\n3 + other", true},
		"changes in another order": {edit, dialog(false, "1 + here", "2 + is"), "1 + here\n2 + is", true},
		"more than a person can read": {`{"event":"Tool","tool":"T","input":{"c":"` +
			strings.Repeat("long ", maxSubject/5) + `"}}`, dialog(false, "long"), "long", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := newBench(t).reports(tt.report).shows(tt.screen)
			late := newBench(t).shows(tt.screen)
			d := late.r.reading.Dialog
			if d == nil {
				t.Fatal("no dialog is read")
			}
			was := d.Fingerprint
			late.reports(tt.report)
			for when, b := range map[string]*bench{"before the dialog": before, "after it": late} {
				if d := b.r.reading.Dialog; d == nil || d.Subject != tt.want || d.Truncated != tt.cut {
					t.Errorf("%s: %+v, want %q, cut off %t", when, d, tt.want, tt.cut)
				}
			}
			if now := late.r.reading.Dialog.Fingerprint; now != was {
				t.Errorf("the hook makes %s of the dialog %s", now, was)
			}
		})
	}
}

func TestAHookMayNotLetGoOfAnArm(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"idle", "error", "dead", "initializing", "nonsense"} {
		text := strings.Replace(casttest.PlainSpec, `state = "executing"`, `state = "`+state+`"`, 1)
		if _, err := rules.ParseSpec("bench", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), "a hook may claim") {
			t.Errorf("a hook that claims %s: %v", state, err)
		}
	}
}
