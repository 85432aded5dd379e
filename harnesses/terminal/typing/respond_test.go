package typing

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/reading"
)

// listSpec describes a program with a list of numbered options.
func listSpec(selects string) string {
	spec := strings.Replace(casttest.PlainSpec, `options = ["Yes", "No"]`,
		"option = '^(?P<mark>>| )(?P<number>\\d+)\\. (?P<label>.*)$'", 1)
	spec = strings.Replace(spec, `select = "digit"`, "end = '^y/n'\nselect = \""+selects+"\"", 1)
	return spec + "[launch.permission]\nask = \"\"\n"
}

// list draws such a list.
func list(options ...string) string {
	return "\x1b[2J\x1b[H=====\r\ntouch it\r\nRun it?\r\n" + strings.Join(options, "\r\n") + "\r\ny/n"
}

// A scrolled list does not show its first options. The typed digit must be the number that the
// screen shows before the option.
func TestADigitIsTheOneThatStandsBeforeTheOption(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []string
		typed   string
		code    coleo.Code
	}{
		"all of it":        {[]string{">1. Yes", " 2. No"}, "1", ""},
		"without its head": {[]string{">3. Yes", " 4. No"}, "3", ""},
		"two digits":       {[]string{">10. Yes", " 11. No"}, "", coleo.EUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, listSpec("digit"), 60, 12)
				st.say(list(tt.options...))
				st.await("it asks", func() bool { return st.State().Dialog != nil })
				answered := make(chan error, 1)
				go func() {
					answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint,
						coleo.Decision{Choice: coleo.ChoiceApprove})
				}()
				st.await("it is answered", func() bool { return st.typed() != "" || len(answered) > 0 })
				st.say(casttest.Idle)
				if err := <-answered; coleo.ErrorCode(err) != tt.code {
					t.Errorf("the answer: %v; want %q", err, tt.code)
				}
				if got := st.typed(); got != tt.typed {
					t.Errorf("typed was %q, want %q", got, tt.typed)
				}
			})
		})
	}
}

// When the screen shows that the cursor has moved, an agent CLI may not read keys yet. So Coleo must wait
// before it presses ENTER.
func TestEnterWaitsBehindAMarkThatHasMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const down, enter = "\x1b[B", "\r"
		st := setStage(t, listSpec("arrows"), 60, 12)
		st.say(list(">1. Yes", " 2. No"))
		st.await("it asks", func() bool { return st.State().Dialog != nil })
		answered := make(chan error, 1)
		go func() {
			answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceDeny})
		}()
		st.await("the mark is moved", func() bool { return st.typed() == down || len(answered) > 0 })
		moved := time.Now()
		st.say(list(" 1. Yes", ">2. No"))
		st.await("it is chosen", func() bool { return st.typed() == down+enter || len(answered) > 0 })
		if gap := st.Spec().Timing.DialogGap.Duration(); time.Since(moved) < gap {
			t.Errorf("ENTER came %s behind the picture, want %s at least", time.Since(moved), gap)
		}
		st.say(casttest.Idle)
		if err := <-answered; err != nil || st.typed() != down+enter {
			t.Errorf("the answer: %v; typed was %q", err, st.typed())
		}
	})
}

// ENTER chooses the marked option. If the screen shows no mark, ENTER must not be pressed, because
// it could choose another option.
func TestAListWithoutAMarkIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, listSpec("arrows"), 60, 12)
		st.say(list(" 1. Yes", " 2. No"))
		st.await("it asks", func() bool { return st.State().Dialog != nil })
		answered := make(chan error, 1)
		go func() {
			answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceApprove})
		}()
		st.await("it is answered", func() bool { return st.typed() != "" || len(answered) > 0 })
		st.say(casttest.Idle)
		if err := <-answered; coleo.ErrorCode(err) != coleo.EUnsupported || st.typed() != "" {
			t.Errorf("the answer: %v, want %s; typed was %q", err, coleo.EUnsupported, st.typed())
		}
	})
}

// If an order fails after its first key, the error must report the typed keys.
func TestAnErrorSaysWhatWasTyped(t *testing.T) {
	t.Parallel()
	const other = "\x1b[2J\x1b[H=====\r\nremove it\r\nRun it?\r\n 1. Yes\r\n>2. No\r\ny/n"
	keys := strings.NewReplacer("approve = '^Yes$'", "approve = 'y'", "deny = '^No$'", "deny = 'n ENTER'").
		Replace(listSpec("keys"))
	for name, tt := range map[string]struct {
		spec, typed, want string
	}{
		"a mark that was moved": {listSpec("arrows"), "\x1b[B", mayHaveMoved},
		"the first of two keys": {keys, "n", "only the first 1 of 2 keys were typed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, tt.spec, 60, 12)
				st.say(list(">1. Yes", " 2. No"))
				st.await("it asks", func() bool { return st.State().Dialog != nil })
				answered := make(chan error, 1)
				go func() {
					answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint, coleo.Decision{Choice: coleo.ChoiceDeny})
				}()
				st.await("the first key is typed", func() bool { return st.typed() == tt.typed || len(answered) > 0 })
				st.say(other)
				if err := <-answered; coleo.ErrorCode(err) != coleo.EStale || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("the answer: %v, want %s with %q", err, coleo.EStale, tt.want)
				}
				if got := st.typed(); got != tt.typed {
					t.Errorf("typed was %q, want %q", got, tt.typed)
				}
			})
		})
	}
}

// Gemini CLI asks whether it may trust the folder. Coleo must not answer this question before the start of
// Gemini CLI is over.
func TestAQuestionOfTrustIsAnsweredWhenTheStartIsOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   string
		sign   bool
		waited time.Duration // the shortest time from the call of Respond to its key
	}{
		"trust":                 {"trust", true, 5 * time.Second},
		"trust, without a sign": {"trust", false, trustTimeout},
		"another question":      {"permission", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				spec := "ready = [{ where = \"screen\", pattern = \"Welcome\" }]\n" + strings.Replace(listSpec("digit"),
					"\nkind = \"permission\"", "\nkind = \""+c.kind+"\"", 1)
				st := setStage(t, spec, 60, 12)
				st.show.Update(func(r *reading.Reader) bool { r.ExpectReady(true); return true })
				st.say(list(">1. Yes", " 2. No"))
				st.await("it asks", func() bool { return st.State().Dialog != nil })
				asked, answered := time.Now(), make(chan error, 1)
				go func() {
					answered <- st.Respond(t.Context(), st.State().Dialog.Fingerprint,
						coleo.Decision{Choice: coleo.ChoiceApprove})
				}()
				if c.sign {
					time.AfterFunc(5*time.Second, func() {
						st.show.print(strings.Replace(list(">1. Yes", " 2. No"), "=====", "Welcome\r\n=====", 1))
					})
				}
				st.await("it is answered", func() bool { return st.typed() != "" })
				if waited := time.Since(asked); waited < c.waited || c.waited == 0 && waited > 2*time.Second {
					t.Errorf("the key was pressed after %s, want at least %s", waited, c.waited)
				}
				st.say(casttest.Idle)
				if err := <-answered; err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Second) // until the timer that prints "Welcome" has run
			})
		})
	}
}
