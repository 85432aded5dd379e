package typing

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

const clearKey = "\x15"

// clearsSpec is deliverSpec with a key that clears the composer. The composer shows a note in place of a
// large paste.
var clearsSpec = strings.NewReplacer("[keys]\n", "[keys]\nclear = \"CTRL_U\"\n",
	"[composer]\n", "[composer]\nheld = '\\[pasted\\]'\n").Replace(deliverSpec)

// promptOutcome contains the results of SendPrompt.
type promptOutcome struct {
	r   coleo.Receipt
	err error
}

// clearsFor sends `prompt` into a composer that contains the text `held`, and returns the outcome.
func (st *stage) clearsFor(prompt, held string) promptOutcome {
	st.t.Helper()
	st.say(redrawn("", held))
	was, done := len(st.typed()), make(chan promptOutcome, 1)
	go func() {
		r, err := st.SendPrompt(st.t.Context(), coleo.Prompt{Text: prompt})
		done <- promptOutcome{r, err}
	}()
	typed := func(text string) func() bool {
		return func() bool { return strings.Contains(st.typed()[was:], text) || len(done) > 0 }
	}
	st.await("it is cleared", typed(clearKey))
	st.say(redrawn("", "type"))
	st.await("it is typed", typed(prompt))
	st.say(redrawn("", prompt))
	st.await("it is submitted", typed("\r"))
	st.say(redrawn("you: "+prompt+"\n", "type"))
	return <-done
}

// A text that a person has typed must be reported with the prompt that removed it. Coleo's own texts must
// not be reported.
func TestTheTextThatIsClearedForAPromptIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own        []string // the earlier prompts of Coleo
		held, want string
	}{
		"a person's text":                {nil, "half a thought", "half a thought"},
		"more than Coleo's text":         {[]string{"do it"}, "and do it", "and do it"},
		"a part of Coleo's text":         {[]string{"do it now"}, "do", "do"},
		"the prompt that is given back":  {[]string{"do it"}, "do it", ""},
		"several prompts are given back": {[]string{"do it", "and that"}, "do it and that", ""},
		"a large paste of a person":      {nil, "[pasted]", "[pasted]"},
		"a large paste after a prompt":   {[]string{"do it"}, "[pasted]", "[pasted]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, clearsSpec, 40, 8)
				st.say(composing("type"))
				st.awaitState(coleo.Idle)
				for _, prompt := range c.own {
					_, err := st.deliver(t.Context(), prompt, redrawn("", prompt), redrawn("you: "+prompt+"\n", "type"))
					if err != nil {
						t.Fatal(err)
					}
					st.awaitState(coleo.Idle)
				}
				got := st.clearsFor("the next", c.held)
				if got.err != nil || got.r.Cleared != c.want {
					t.Errorf("cleared %q, %v; want %q", got.r.Cleared, got.err, c.want)
				}
			})
		})
	}
}

// A prompt that Coleo did not submit is still in the composer. When Coleo clears the composer for the next
// prompt, it must not report its own text. It must report only a text that a person has typed before Coleo's
// text.
func TestAPromptThatStandsInTheComposerIsNotReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ held, want string }{
		"alone":                  {"do it", ""},
		"as a note":              {"[pasted]", ""},
		"with a person's text":   {"mine do it", "mine"},
		"a note with a text":     {"mine [pasted]", "mine"},
		"only its beginning":     {"do i", "do i"},
		"behind a person's text": {"do it mine", "do it mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, clearsSpec, 40, 8)
				st.say(composing("type"))
				st.awaitState(coleo.Idle)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := st.SendPrompt(ctx, coleo.Prompt{Text: "do it"})
					done <- err
				}()
				if err := <-done; coleo.ErrorCode(err) != coleo.ETimeout {
					t.Fatalf("a composer that shows nothing: %v", err)
				}
				st.say(redrawn("", "type"))
				next := make(chan promptOutcome, 1)
				go func() { next <- st.clearsFor("the next", c.held) }()
				st.await("the probe is typed", func() bool { return strings.HasSuffix(st.typed(), probe) })
				st.say(redrawn("", c.held+probe))
				if got := <-next; got.err != nil || got.r.Cleared != c.want {
					t.Errorf("cleared %q, %v; want %q", got.r.Cleared, got.err, c.want)
				}
			})
		})
	}
}

// If the prompt is refused after its composer was cleared, the error must contain the removed text.
func TestARefusedPromptReportsWhatItCleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, clearsSpec, 40, 8)
		st.say(composing("half a thought"))
		st.awaitState(coleo.Idle)
		done := st.prompting("do it")
		st.await("it is cleared", func() bool { return strings.HasSuffix(st.typed(), clearKey) })
		st.show.end()
		if err := <-done; err == nil || !strings.Contains(err.Error(), `removed from its composer before: "half a thought"`) {
			t.Errorf("the error is %v", err)
		}
	})
}

// A torn paste leaves only the beginning of Coleo's text in the composer. This beginning must not be
// reported.
func TestTheBeginningOfATornPromptIsNotReported(t *testing.T) {
	t.Parallel()
	for held, want := range map[string]string{"do": "", "do mine": "do mine"} {
		synctest.Test(t, func(t *testing.T) {
			st := setStage(t, clearsSpec, 40, 8)
			st.say(composing("type"))
			st.awaitState(coleo.Idle)
			st.turn.own.noteTyping("do it now")
			st.turn.own.noteFailed(true)
			if got := st.clearsFor("the next", held); got.err != nil || got.r.Cleared != want {
				t.Errorf("%q stands there: cleared %q, %v; want %q", held, got.r.Cleared, got.err, want)
			}
		})
	}
}

// Several removed texts must be reported together, up to clearedMost bytes.
func TestTheReportedTextIsBounded(t *testing.T) {
	t.Parallel()
	var o ownTexts
	o.noteRemoved("first")
	o.noteRemoved(strings.Repeat("é", clearedMost))
	got := o.takeRemoved()
	if !strings.HasPrefix(got, "first\né") || !strings.HasSuffix(got, "é…") || len(got) > clearedMost+len("…") {
		t.Errorf("%d bytes are told: %.20q…", len(got), got)
	}
	if again := o.takeRemoved(); again != "" {
		t.Errorf("a told text is told again: %.20q", again)
	}
}

// If the keys do not clear the composer, the text must not be reported as removed.
func TestATextThatCannotBeClearedIsNotReportedAsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, clearsSpec, 40, 8)
		st.say(composing("half a thought"))
		st.awaitState(coleo.Idle)
		if err := <-st.prompting("do it"); coleo.ErrorCode(err) != coleo.EBusy || strings.Contains(err.Error(), "removed") {
			t.Errorf("the error is %v", err)
		}
	})
}
