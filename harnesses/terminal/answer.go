package terminal

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/reading"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/holder"
	"coleo.dev/holder/journal"
	"coleo.dev/pty"
)

// Answer returns the reply to a prompt. It tries these sources in order:
//
//  1. the hook's report that names the prompt
//  2. the agent CLI's own channel, such as its transcript
//  3. the screen
//
// The text is empty if no source has the reply. Answer returns an error if it cannot
// read the agent CLI's own channel or the journal.
func (s *session) Answer(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	if text := s.hookAnswer(r); text != "" {
		return coleo.Answer{Text: text, Source: "hook"}, nil
	}
	a, err := s.ownAnswer(ctx, r)
	if err != nil || a.Text != "" {
		return a, err
	}
	if s.rules().Answer.Whole {
		return s.printedAnswer(r)
	}
	return coleo.Answer{Text: s.rules().Answer.Read(s.rowsAbove(), r.Text), Source: "screen"}, nil
}

// ReadsAnswers reports whether Coleo can read the agent CLI's answers from its hook or from its own record.
// Otherwise Coleo reads answers only from the screen.
func (h *Harness) ReadsAnswers() bool {
	return h.hooks.Answer != nil || h.spec.Transcript.File != "" ||
		slices.ContainsFunc(h.spec.Hook.Reports, func(r rules.Report) bool { return r.Answer != "" })
}

const (
	// maxPrinted is the largest number of bytes of output that Coleo reads for one answer: about
	// 10,000 rows of text. If there is more output, Coleo reads only its end.
	maxPrinted = 1 << 20
	// printedCols is the width in columns of the screen in memory to which printedAnswer writes the output
	// once more. It is much wider than a terminal, so that long lines stay whole.
	printedCols = 1000
)

// printedAnswer returns the text that the program has printed since a prompt was submitted. It leaves out
// the echo of the prompt at the beginning, and the program's own prompt line at the end. It uses only the
// newest maxPrinted bytes and the newest HistoryRows rows. The answer's source is "output" if these contain
// the whole text, and "screen" otherwise.
func (s *session) printedAnswer(r coleo.Receipt) (coleo.Answer, error) {
	end, rows := s.extent()
	from := max(r.Offset, end-maxPrinted)
	reader := journal.NewReader(holder.JournalDir(s.handle.Dir), from)
	defer reader.Close()
	screen := pty.New(printedCols, rows)
	if _, err := io.Copy(screen, io.LimitReader(reader, end-from)); err != nil {
		return coleo.Answer{}, fmt.Errorf("read what the program has printed: %w", err)
	}
	f := rules.NewPicture(screen.View(), &s.rules().Composer)
	history := screen.History(reading.HistoryRows)
	answer := coleo.Answer{Source: "output"}
	if from > r.Offset || len(history) >= reading.HistoryRows {
		answer.Source = "screen"
	}
	lines := rules.WithoutPrompt(append(history, f.Above()...), r.Text)
	answer.Text = strings.Trim(strings.Join(lines, "\n"), "\n")
	return answer, nil
}

// ownAnswer reads the reply from the agent CLI's own channel. If the harness has no Hooks.Answer, that
// channel is the transcript that the Spec describes. The text is empty if the agent CLI has no such channel.
func (s *session) ownAnswer(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	switch {
	case s.harness.hooks.Answer != nil:
		return s.harness.hooks.Answer(ctx, s.factsNow(), r)
	case s.rules().Transcript.File != "":
		return s.awaitTranscript(ctx, r)
	}
	return coleo.Answer{}, nil
}

const (
	// transcriptLag is how long Coleo waits until the transcript contains an answer that the screen already
	// shows. It is long because some agent CLIs write their transcript only once a second.
	transcriptLag = 3 * time.Second
	// transcriptRetry is the time between two reads of the transcript. A read takes about a
	// millisecond.
	transcriptRetry = 50 * time.Millisecond
)

// awaitTranscript reads the reply to a prompt from the transcript. The transcript can lag behind the
// screen. So awaitTranscript repeats the read until the screen, too, shows the end of the reply below the
// prompt. It gives up after transcriptLag, and then returns the text that it has read.
func (s *session) awaitTranscript(ctx context.Context, r coleo.Receipt) (coleo.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, transcriptLag)
	defer cancel()
	tick := time.NewTicker(transcriptRetry)
	defer tick.Stop()
	for {
		a, err := transcriptAnswer(&s.rules().Transcript, s.factsNow(), r)
		if err != nil || a.Text != "" && rules.ShowsAnswer(s.rowsAbove(), r.Text, a.Text) {
			return a, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return a, nil
		}
	}
}

// rowsAbove returns the rows that have scrolled off the screen, followed by the rows above the
// composer.
func (s *session) rowsAbove() []string {
	r, unlock := s.live.lock()
	defer unlock()
	return reading.TranscriptOf(r.Core(), &s.rules().Composer)
}

// hookAnswer returns the answer that the hook has reported for a prompt, or "" if it has reported none.
func (s *session) hookAnswer(r coleo.Receipt) string {
	w, unlock := s.live.watch()
	defer unlock()
	w.takeReports(time.Now())
	return w.HookAnswer(r.Text, r.Time)
}

// extent returns the offset of the output's end, and the number of rows of the screen.
func (s *session) extent() (end int64, rows int) {
	r, unlock := s.live.lock()
	defer unlock()
	_, rows = r.Core().Size()
	return r.End(), rows
}
