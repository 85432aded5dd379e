package typing

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/record"
)

// queueSpec describes a program with a separate key that queues prompts during work.
var queueSpec = strings.NewReplacer(
	"submit = \"ENTER\"\n", "submit = \"ENTER\"\nqueue = \"TAB\"\n",
	"[composer]\n", "[composer]\nheld = '^\\[Pasted\\]$'\n",
).Replace(submitSpec)

// sending is a call of SendPrompt or SendCompact in the background.
type sending struct {
	st   *stage
	was  int // number of bytes typed before
	done chan struct{}
	r    coleo.Receipt
	err  error
}

// send sends a prompt to a program that shows the given screen. It returns when the prompt's text is typed.
func (st *stage) send(screen string, state coleo.State, prompt string) *sending {
	st.t.Helper()
	st.say(screen)
	st.await("it is there", func() bool { return st.State().State == state })
	return st.begin(prompt, func(ctx context.Context) (coleo.Receipt, error) {
		return st.SendPrompt(ctx, coleo.Prompt{Text: prompt})
	})
}

// begin calls the function `submit` in the background, and returns when the text is typed.
func (st *stage) begin(text string, submit func(context.Context) (coleo.Receipt, error)) *sending {
	st.t.Helper()
	next := &sending{st: st, was: len(st.typed()), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(st.t.Context(), patience)
	st.t.Cleanup(cancel)
	go func() {
		defer close(next.done)
		next.r, next.err = submit(ctx)
	}()
	next.await(text)
	return next
}

// await waits until the typed keys end with the text `end`, or the call has returned.
func (g *sending) await(end string) {
	g.st.t.Helper()
	g.st.await("it is typed", func() bool {
		select {
		case <-g.done:
			return true
		default:
			return strings.HasSuffix(g.typed(), end)
		}
	})
}

func (g *sending) typed() string { return g.st.typed()[g.was:] }

const atWork = "working\r\n> type\r\n-----"

// During work, a prompt must be queued with the queue key. The submit key could answer a dialog that is not
// drawn yet.
func TestAPromptAtWorkIsQueuedByTheKeyThatAnswersNoDialog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, queueSpec, 40, 8)
		g := st.send(atWork, coleo.Processing, "do it")
		st.say(redrawn("", "do it"))
		g.await("\t")
		st.say(redrawn("", "type"))
		<-g.done
		if g.err != nil || g.r.Proof != coleo.ProofQueued || g.typed() != "do it\t" {
			t.Fatalf("typed %q, proof %q, %v; want the text and TAB, and proof %q", g.typed(), g.r.Proof, g.err,
				coleo.ProofQueued)
		}
	})
}

// The queue key does nothing if the work has just ended. The submit key must then be pressed.
func TestAPromptThatComesTooLateForTheQueueIsSubmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, queueSpec, 40, 8)
		g := st.send(atWork, coleo.Processing, "do it")
		st.say(redrawn("", "do it"))
		g.await("\t")
		st.say("\r\x1b[2A\x1b[J" + composing("do it"))
		g.await("\r")
		st.say(redrawn("working\n", "type"))
		<-g.done
		if g.err != nil || g.typed() != "do it\t\r" {
			t.Fatalf("typed %q, proof %q, %v; want the text, TAB and ENTER", g.typed(), g.r.Proof, g.err)
		}
	})
}

// notes adds an entry to the program's own record.
func (st *stage) notes(e record.Entry) {
	e.Time = time.Now()
	st.show.Update(func(r *reading.Reader) bool { r.AddEntry(e, e.Time); return true })
	synctest.Wait()
}

// setStageWithHiddenWork starts a program whose screen looks idle, while its record reports work.
func setStageWithHiddenWork(t *testing.T) *stage {
	st := setStage(t, queueSpec, 40, 8)
	st.say(composing("type"))
	st.awaitState(coleo.Idle)
	st.notes(record.Entry{Kind: record.Prompt, Text: "before", ByUser: true})
	return st
}

// Just before a dialog, the screen of Gemini CLI 0.61.0 may show no sign of work. The prompt must then be
// queued, because ENTER would approve the dialog.
func TestAPromptIsQueuedIfOnlyTheRecordShowsWork(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint("the turn ends: ", ends), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStageWithHiddenWork(t)
				g := st.send("", coleo.Processing, "do it")
				st.say(redrawn("", "do it"))
				g.await("\t")
				if time.Sleep(4 * ignoredGap); g.typed() != "do it\t" {
					t.Fatalf("typed %q although the turn may ask; want the text and TAB", g.typed())
				}
				if !ends {
					st.say("\r\x1b[2A\x1b[Jrun it?")
					if <-g.done; coleo.ErrorCode(g.err) != coleo.EUnsettled || g.typed() != "do it\t" {
						t.Fatalf("typed %q, %v; want the text and TAB, and %s", g.typed(), g.err, coleo.EUnsettled)
					}
					return
				}
				st.notes(record.Entry{Kind: record.End, Ending: record.Finished})
				g.await("\r")
				st.say(redrawn("working\n", "type"))
				if <-g.done; g.err != nil || g.typed() != "do it\t\r" {
					t.Fatalf("typed %q, %v; want the text, TAB and ENTER", g.typed(), g.err)
				}
			})
		})
	}
}

// The composer shows a note such as "[Pasted]" in place of the prompt. Only ENTER would submit the prompt, but
// ENTER could answer a dialog. So the prompt must be refused while the record reports work.
func TestAFoldedPromptIsNotSubmittedIfOnlyTheRecordShowsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStageWithHiddenWork(t)
		g := st.send("", coleo.Processing, "do it")
		st.say(redrawn("", "[Pasted]"))
		if <-g.done; coleo.ErrorCode(g.err) != coleo.EBusy || g.typed() != "do it" {
			t.Fatalf("typed %q, %v; want the text alone, and %s", g.typed(), g.err, coleo.EBusy)
		}
	})
}

// The composer shows a note such as "[Pasted]" in place of the prompt. With the queue key, Gemini CLI 0.61.0
// queues the text of the note and not the prompt. So the prompt must be refused.
func TestAPromptThatIsFoldedAtWorkIsNotSubmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, queueSpec, 40, 8)
		g := st.send(atWork, coleo.Processing, "do it")
		st.say(redrawn("", "[Pasted]"))
		<-g.done
		if coleo.ErrorCode(g.err) != coleo.EBusy || g.typed() != "do it" {
			t.Fatalf("typed %q, %v; want the text alone, and %s", g.typed(), g.err, coleo.EBusy)
		}
	})
}

// Coleo has typed a prompt, and waits until its text appears. If a dialog opens there, the wait must end. The
// prompt is not lost, because Coleo has not pressed the submit key.
func TestADialogInPlaceOfTheTextEndsTheWaitForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, queueSpec, 40, 8)
		g := st.send(atWork, coleo.Processing, "do it")
		st.say("\r\x1b[2A\x1b[Jrun it?")
		const heldTimeout = 10 * time.Second // of package typing
		began := time.Now()
		<-g.done
		took := time.Since(began)
		if coleo.ErrorCode(g.err) != coleo.EBlocked || !strings.Contains(g.err.Error(), "not submitted") ||
			took >= heldTimeout/2 || g.typed() != "do it" {
			t.Fatalf("after %s: typed %q, %v; want the text alone, and %s before %s", took, g.typed(), g.err,
				coleo.EBlocked, heldTimeout/2)
		}
	})
}

// An agent CLI can remove the composer before it draws a dialog. Then an earlier prompt in the transcript may
// look like the composer. The text of this earlier prompt must not prove that the new prompt is queued.
func TestAnotherTextInTheComposerDoesNotProveThatAPromptIsQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, queueSpec, 40, 8)
		g := st.send(atWork, coleo.Processing, "do it")
		st.say(redrawn("", "do it"))
		g.await("\t")
		const older = "what was sent before"
		st.say(redrawn("", older))
		st.await("it is looked at", func() bool {
			return peek(st.show, func(r *reading.Reader) bool { return strings.Contains(contentOf(r).text, older) })
		})
		st.say("\r\x1b[A\x1b[Jrun it?")
		<-g.done
		if coleo.ErrorCode(g.err) != coleo.EUnsettled {
			t.Fatalf("proof %q, %v; want %s", g.r.Proof, g.err, coleo.EUnsettled)
		}
	})
}

// The hook of Claude Code reports a tool half a second before the tool's dialog is drawn. The prompt must not
// be submitted meanwhile.
func TestAPromptIsNotSubmittedWhileAToolMayAsk(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		t.Run(fmt.Sprint("it asks: ", asks), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := setStage(t, submitSpec, 40, 8)
				st.hookReports("PostToolUse")
				g := st.send(atWork, coleo.Processing, "do it")
				reported := time.Now()
				st.hookReports("PreToolUse")
				st.say(redrawn("", "do it"))
				if asks {
					st.say("\r\x1b[2A\x1b[Jrun it?")
					if <-g.done; g.err == nil || g.typed() != "do it" {
						t.Errorf("typed %q, %v; want the text alone", g.typed(), g.err)
					}
					return
				}
				g.await("\r")
				if took := time.Since(reported); took < reading.ToolAsks || !strings.HasSuffix(g.typed(), "\r") {
					t.Errorf("typed %q after %s, %v; want it submitted after %s", g.typed(), took, g.err,
						reading.ToolAsks)
				}
				st.say(redrawn("working\n", "type"))
				<-g.done
			})
		})
	}
}

// A hook that has reported nothing may be switched off, and Coleo would then notice dialogs too late. So Coleo
// must not queue a prompt while the agent CLI works.
func TestNothingIsQueuedIfNothingReportsDialogs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, submitSpec, 40, 8)
		st.say(atWork)
		st.await("it is there", func() bool { return st.State().State == coleo.Processing })
		if _, err := st.SendPrompt(t.Context(), coleo.Prompt{Text: "do it"}); coleo.ErrorCode(err) != coleo.EBusy ||
			st.typed() != "" {
			t.Errorf("typed %q, %v; want nothing, and %s", st.typed(), err, coleo.EBusy)
		}
	})
}

// Work may end while a prompt waits for its submit key. Whether the prompt counts as queued must depend on
// the picture on which the key is pressed.
func TestAPromptThatIsSubmittedBehindWorkIsNotQueued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, strings.Replace(submitSpec, "settle_ms = 100", "settle_ms = 0\npaste_gap_ms = 0", 1), 40, 8)
		st.hookReports("PostToolUse")
		g := st.send(atWork, coleo.Processing, "do it")
		st.hookReports("PreToolUse")
		st.say(redrawn("", "do it"))
		st.await("the tool is seen", func() bool { return st.State().State == coleo.Executing })
		st.say("\r\x1b[2A\x1b[J" + composing("do it")) // work ends
		st.hookReports("PostToolUse")
		st.say("\a")
		g.await("\r")
		st.say(redrawn("working\n", "type"))
		<-g.done
		if g.err != nil || g.typed() != "do it\r" || g.r.Proof != coleo.ProofStarted {
			t.Fatalf("typed %q, proof %q, %v; want the text and ENTER, and proof %q", g.typed(), g.r.Proof, g.err,
				coleo.ProofStarted)
		}
	})
}

// The queue of the agent CLI may contain an earlier prompt with the same text. The turn of that prompt may
// begin while the new prompt waits for its submit key. This turn must not prove that the new prompt has
// arrived.
func TestAnEarlierPromptWithTheSameTextIsNoProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, submitSpec, 40, 8)
		st.hookReports("PostToolUse")
		g := st.send(atWork, coleo.Processing, "do it")
		st.hookReports("PreToolUse")
		st.say(redrawn("", "do it"))
		time.Sleep(reading.ToolAsks / 2)
		st.notes(record.Entry{Kind: record.Prompt, Text: "do it", ByUser: true})
		g.await("\r")
		if <-g.done; coleo.ErrorCode(g.err) != coleo.EPromptLost || g.typed() != "do it\r" {
			t.Fatalf("typed %q, proof %q, %v; want the text and ENTER, and %s", g.typed(), g.r.Proof, g.err, coleo.EPromptLost)
		}
	})
}
