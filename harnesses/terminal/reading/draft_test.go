package reading

import (
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

// heldFor is how long the test holds back output. A complete dialog is reported after a shorter time, and an
// incomplete one after a longer time.
const heldFor = time.Second

// A slow machine may show a dialog long before its subject is drawn. The dialog must not be reported
// meanwhile, because its fingerprint would become stale when the subject comes.
func TestADialogWithoutItsSubjectIsNotReported(t *testing.T) {
	t.Parallel()
	for recording, at := range map[string]time.Duration{ // when the picture shows the dialog without its subject
		"claude-code-2.1.329/edit":           2_810 * time.Millisecond,
		"gemini-sizes/0.61.0-60x20-long":     4_060 * time.Millisecond,
		"gemini-sizes/0.61.0-60x20-long two": 6_450 * time.Millisecond,
		"opencode-1.18.33/deny-esc":          470 * time.Millisecond,
	} {
		t.Run(recording, func(t *testing.T) {
			t.Parallel()
			path, _, _ := strings.Cut(recording, " ")
			cast := casttest.Cast(t, path)
			folder, _, _ := strings.Cut(path, "/")
			p := newPlayer(specFor(t, folder), Recording{Cast: cast, Until: -1}, func(coleo.Change) {})
			held := time.Duration(0) // the delay of all output after that picture
			for _, e := range cast.Events {
				if e.At > at && held == 0 {
					held = heldFor
					p.wait(recordingStart().Add(at + held))
					if r := p.reading; r.State != coleo.WaitingApproval || r.Dialog != nil ||
						!p.verdict.Dialog.Truncated {
						t.Fatalf("held still at %s it reads %s, dialog %+v", at, r.State, r.Dialog)
					}
				}
				p.wait(recordingStart().Add(e.At + held))
				if held > 0 && p.reading.Dialog != nil {
					break
				}
				p.feed(e, recordingStart().Add(e.At+held))
			}
			p.wait(p.output.last.Add(heldFor)) // needed for a recording that ends with that picture
			if d := p.reading.Dialog; d == nil || !strings.Contains(d.Subject, "\n") {
				t.Errorf("whole it is %+v", d)
			}
		})
	}
}

// A question is drawn before its options. On a loaded machine, it is without options for a while and
// must not be reported then.
func TestADialogWithoutItsOptionsIsNotReportedAtOnce(t *testing.T) {
	t.Parallel()
	const begin = "\x1b[2J\x1b[H=====\r\ntouch it\r\nRun it?\r\ny/n"
	b := newBenchOf(t, strings.Replace(casttest.PlainSpec, `options = ["Yes", "No"]`,
		`option = '^\d\. (?P<label>.*)$'`, 1))
	b.shows(casttest.Idle).shows(begin).after(partialSettle / 2)
	if r := b.r.reading; r.State != coleo.WaitingApproval || r.Dialog != nil {
		t.Errorf("without its options it reads %s, dialog %+v; want none yet", r.State, r.Dialog)
	}
	if b.after(partialSettle); b.r.reading.Dialog == nil {
		t.Error("without its options for good it is never told")
	}
	if b.shows(casttest.Idle).shows(casttest.Asks); b.r.reading.Dialog == nil {
		t.Error("with its options it is not told at once")
	}
}

// A dialog that has no title and no options yet must be reported only after a longer wait, because nobody can
// decide about it.
func TestADialogWithoutTextIsReportedLate(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, casttest.PlainSpec+`
[[dialog]]
name = "waits"
kind = "other"
when = [{ where = "bottom 1", pattern = '^waiting for you' }]
draft = [{ where = "bottom 3", pattern = '(?m)^\d\. ', not = true }]
title = '^(\S.*\?)$'
option = '^(?P<number>\d)\. (?P<label>.*)$'
select = "digit"
deny_keys = "ESCAPE"
`)
	b.shows(casttest.Idle).shows("\x1b[2J\x1b[Hsome text\r\nwaiting for you").after(emptySettle - time.Second)
	if r := b.r.reading; r.State != coleo.WaitingApproval || r.Dialog != nil {
		t.Errorf("without a title and options it reads %s, dialog %+v; want none yet", r.State, r.Dialog)
	}
	if b.after(time.Second); b.r.reading.Dialog == nil {
		t.Error("without a title and options for good it is never told")
	}
	b.shows(casttest.Idle).shows("\x1b[2J\x1b[HGo on?\r\n1. Yes\r\nwaiting for you").after(dialogSettle)
	if b.r.reading.Dialog == nil {
		t.Error("with its options it is not told at once")
	}
}
