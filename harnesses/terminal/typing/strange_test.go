package typing

import (
	"testing"
	"testing/synctest"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/pty"
)

// askClaim is an escape sequence with which the program claims that it asks something.
const askClaim = "\x1b]7501;state=blocked:app=x\x07"

// strangeStage returns a program with a question that no rule knows.
func strangeStage(t *testing.T) (*stage, coleo.Dialog) {
	t.Helper()
	st := setStage(t, casttest.PlainSpec+"[launch.permission]\nask = \"\"\n", 60, 12)
	st.say(casttest.Idle)
	st.awaitState(coleo.Idle)
	st.say(casttest.WorkClaim + casttest.Busy)
	st.say(askClaim + "\x1b[2J\x1b[HShall I? [yes/no]")
	st.awaitState(coleo.WaitingApproval)
	st.await("the dialog is told", func() bool { return st.State().Dialog != nil })
	return st, *st.State().Dialog
}

// A question must be reported even if no rule recognizes the screen.
func TestADialogThatNoRuleKnowsIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, d := strangeStage(t)
		if d.Kind != coleo.DialogOther || d.Title != "unknown" || d.Subject != "Shall I? [yes/no]" || d.Fingerprint == "" {
			t.Errorf("it is told as %+v", d)
		}
		st.say("\x1b[2J\x1b[HShall I really? [yes/no]")
		st.await("the next one is told", func() bool {
			now := st.State().Dialog
			return now != nil && now.Fingerprint != d.Fingerprint
		})
	})
}

// If no rule knows a dialog, Coleo cannot know which key approves it. So Coleo may type only a key that the
// decision names.
func TestNothingButANamedKeyIsTypedIntoAnUnknownDialog(t *testing.T) {
	t.Parallel()
	reply := coleo.ChoiceAnswer
	for name, c := range map[string]struct {
		decision coleo.Decision
		code     coleo.Code
		dialog   coleo.Fingerprint
	}{
		"an approval":          {coleo.Decision{Choice: coleo.ChoiceApprove}, coleo.EUnsupported, ""},
		"an approval for good": {coleo.Decision{Choice: coleo.ChoiceApproveAlways}, coleo.EUnsupported, ""},
		"a denial":             {coleo.Decision{Choice: coleo.ChoiceDeny}, coleo.EUnsupported, ""},
		"an option":            {coleo.Decision{Choice: reply, Option: 1}, coleo.EUnsupported, ""},
		"a text":               {coleo.Decision{Choice: reply, Words: "yes"}, coleo.EUnsupported, ""},
		"an approval with key": {coleo.Decision{Choice: coleo.ChoiceApprove, Key: "y"}, coleo.EUnsupported, ""},
		"two keys":             {coleo.Decision{Choice: reply, Key: "y ENTER"}, coleo.EInvalid, ""},
		"a key that is none":   {coleo.Decision{Choice: reply, Key: "NOPE"}, coleo.EInvalid, ""},
		"a key for an earlier": {coleo.Decision{Choice: reply, Key: "y"}, coleo.EStale, "000000000000-0000-unknown-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, d := strangeStage(t)
				if c.dialog == "" {
					c.dialog = d.Fingerprint
				}
				err := st.Respond(t.Context(), c.dialog, c.decision)
				if coleo.ErrorCode(err) != c.code || st.typed() != "" {
					t.Errorf("%v, typed was %q; want %s and nothing typed", err, st.typed(), c.code)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		st, _ := strangeStage(t)
		if _, err := st.Interrupt(t.Context()); err == nil || st.typed() != "" {
			t.Errorf("an interrupt: %v, typed was %q; want nothing typed", err, st.typed())
		}
		if _, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "yes"}); err == nil || st.typed() != "" {
			t.Errorf("a prompt: %v, typed was %q; want nothing typed", err, st.typed())
		}
		_, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "yes", Interrupt: true})
		if err == nil || st.typed() != "" {
			t.Errorf("a prompt that interrupts: %v, typed was %q; want nothing typed", err, st.typed())
		}
	})
}

func TestANamedKeyIsTypedIntoTheUnknownDialogThatWasLookedAt(t *testing.T) {
	t.Parallel()
	escape, _ := pty.Key("ESCAPE")
	for name, want := range map[string]string{"ESCAPE": string(escape), "y": "y"} {
		synctest.Test(t, func(t *testing.T) {
			st, d := strangeStage(t)
			answered := make(chan error, 1)
			go func() {
				answered <- st.Respond(t.Context(), d.Fingerprint, coleo.Decision{Choice: coleo.ChoiceAnswer, Key: name})
			}()
			st.await("the key is typed", func() bool { return st.typed() != "" || len(answered) > 0 })
			st.say(casttest.Busy)
			if err := <-answered; err != nil || st.typed() != want {
				t.Errorf("%s: %v, typed was %q", name, err, st.typed())
			}
		})
	}
}

// If a rule knows a dialog, its options define the keys of each answer. So Coleo must refuse a decision that
// names a key.
func TestAKnownDialogTakesNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, casttest.PlainSpec+"[launch.permission]\nask = \"\"\n", 60, 12)
		st.say(casttest.Asks)
		st.await("it asks", func() bool { return st.State().Dialog != nil })
		err := st.Respond(t.Context(), st.State().Dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceAnswer, Key: "1"})
		if coleo.ErrorCode(err) != coleo.EUnsupported || st.typed() != "" {
			t.Errorf("%v, typed was %q; want %s", err, st.typed(), coleo.EUnsupported)
		}
	})
}
