package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"coleo.dev"
)

// way is one way to answer a dialog of the harness's catalogue.
type way struct {
	name   string
	choice coleo.Choice
	refuse string // part of the error if Coleo must refuse this answer; "" if Coleo must accept it
	answer int    // only for ChoiceAnswer: index of the answer to pick on each page
	all    bool   // only for ChoiceAnswer: pick all answers on each page that allows several
	words  bool   // only for ChoiceAnswer: write a text on each page that allows one
}

// waysOf returns the ways in which the checks answer a dialog of the catalogue. The
// answers that Coleo must refuse are first.
func waysOf(a coleo.Ask) []way {
	var out []way
	for _, choice := range slices.Sorted(maps.Keys(a.Refuses)) {
		w := way{name: choice + " refused", choice: coleo.Choice(choice), refuse: a.Refuses[choice]}
		if choice == coleo.RefusedWords {
			w.choice, w.words = coleo.ChoiceAnswer, true
		}
		out = append(out, w)
	}
	if _, refused := a.Refuses[string(coleo.ChoiceDeny)]; !refused {
		out = append(out, way{name: "denied", choice: coleo.ChoiceDeny})
	}
	if _, refused := a.Refuses[string(coleo.ChoiceApprove)]; !refused && len(a.Pages) == 0 {
		out = append(out, way{name: "approved", choice: coleo.ChoiceApprove})
	}
	if _, refused := a.Refuses[string(coleo.ChoiceAnswer)]; refused {
		return out
	}
	most, several, words := 0, false, false
	for _, p := range a.Pages {
		most, several, words = max(most, len(p.Answers)), several || p.Several, words || p.Words
	}
	for n := range most {
		out = append(out, way{name: fmt.Sprintf("answer %d", n+1), choice: coleo.ChoiceAnswer, answer: n})
	}
	if several {
		out = append(out, way{name: "all ticked", choice: coleo.ChoiceAnswer, all: true})
	}
	if words {
		out = append(out, way{name: "own words", choice: coleo.ChoiceAnswer, words: true})
	}
	return out
}

// checkRefusal checks that Coleo refuses an answer and types nothing. Then it denies the dialog or
// ends the agent CLI.
func (x *attempt) checkRefusal(ctx context.Context, w way) error {
	before := *x.dialog
	decision := coleo.Decision{Choice: w.choice}
	switch {
	case w.words:
		decision.Words = Nonce()
	case w.choice == coleo.ChoiceAnswer:
		decision.Option = 1
	}
	err := x.Session.Respond(ctx, x.dialog.Fingerprint, decision)
	if err == nil || !strings.Contains(err.Error(), w.refuse) {
		return fmt.Errorf("it got %v, want an error with %q", err, w.refuse)
	}
	if now := x.Session.State().Dialog; now == nil || !reflect.DeepEqual(*now, before) {
		return fmt.Errorf("the dialog after the refusal is %+v, want %+v", now, before)
	}
	if err := x.checkUndone(false); err != nil {
		return err
	}
	if _, refused := x.ask.Refuses[string(coleo.ChoiceDeny)]; refused || x.ask.OwnStart() {
		return x.renew(ctx)
	}
	return x.checkDenial(ctx)
}

// checkReplies answers the model's questions one after another. If a dialog follows the questions, checkReplies
// approves it. Then it checks one of these, depending on the line of the catalogue:
//   - Usually, the model has received the picked answers and no others.
//   - If the line has a Result, the model has received that result.
//   - If the model has no part in the dialog, the agent CLI accepts a prompt. That is the case for a dialog at
//     the start, after a typed command, or after a Prompt without a Result.
func (x *attempt) checkReplies(ctx context.Context, w way) error {
	var wanted, unwanted []string
	for page := 0; x.dialog != nil; page++ {
		decision := coleo.Decision{Choice: coleo.ChoiceApprove}
		if page < len(x.ask.Pages) {
			var yes, no []string
			var err error
			if decision, yes, no, err = x.reply(w, x.ask.Pages[page]); err != nil {
				return fmt.Errorf("question %d: %w", page+1, err)
			}
			wanted, unwanted = append(wanted, yes...), append(unwanted, no...)
		}
		if page > len(x.ask.Pages) {
			return fmt.Errorf("a dialog came after the last answer: %q", x.dialog.Title)
		}
		if err := x.respond(ctx, decision); err != nil {
			return fmt.Errorf("dialog %d: %w", page+1, err)
		}
	}
	switch {
	case x.ask.Start || x.ask.OnlyTyped() || x.ask.Prompt != "" && x.ask.Result == "":
		return x.checkNextPrompt(ctx)
	case x.ask.Result != "":
		return x.checkDone()
	}
	got := strings.Join(x.results(), "\n")
	for _, text := range wanted {
		if !strings.Contains(got, text) {
			return fmt.Errorf("the model got %q, want %q in it", cut(got), text)
		}
	}
	for _, text := range unwanted {
		if strings.Contains(got, text) {
			return fmt.Errorf("the model got %q, and %q was not picked", cut(got), text)
		}
	}
	return nil
}

// reply returns the decision that answers one question. After this answer, the model must receive the texts in
// `yes`, and must not receive the texts in `no`.
func (x *attempt) reply(w way, p coleo.AskPage) (d coleo.Decision, yes, no []string, err error) {
	if want := cmp.Or(p.Kind, x.ask.Kind); x.dialog.Kind != want {
		return d, nil, nil, fmt.Errorf("the dialog %q is of the kind %s, want %s", x.dialog.Title, x.dialog.Kind, want)
	}
	if p.Several != x.dialog.Several {
		return d, nil, nil, fmt.Errorf("several options can be ticked: %t, want %t", x.dialog.Several, p.Several)
	}
	if p.Words && (w.words || len(p.Answers) == 0) {
		words := Nonce()
		return coleo.Decision{Choice: coleo.ChoiceAnswer, Words: words}, []string{words}, p.Answers, nil
	}
	d.Choice = coleo.ChoiceAnswer
	for i, label := range p.Answers {
		n := slices.IndexFunc(x.dialog.Options, func(o string) bool { return strings.HasPrefix(o, label) }) + 1
		switch {
		case n == 0:
			return d, nil, nil, fmt.Errorf("the options are %q, want %q", x.dialog.Options, label)
		case w.all && p.Several:
			d.Options, yes = append(d.Options, n), append(yes, label)
		case i == w.answer%len(p.Answers) && p.Several:
			d.Options, yes = []int{n}, []string{label}
		case i == w.answer%len(p.Answers):
			d.Option, yes = n, []string{label}
		default:
			no = append(no, label)
		}
	}
	return d, yes, no, nil
}

const (
	// handEvery is the time between two typed keys, and between two checks of the screen.
	handEvery = 50 * time.Millisecond
	// handPause is the pause that a person makes before Enter. Without it, Codex 0.169.0 treats an
	// Enter after fast text as a new row.
	handPause = 500 * time.Millisecond
)

// typeByHand types a command into the terminal key by key, as a user does, and presses Enter. It
// returns when the screen has changed after Enter.
func (t *Trial) typeByHand(ctx context.Context, command string) error {
	term, ok := t.Session.(coleo.Terminal)
	if !ok {
		return skip("it has no terminal")
	}
	rows := func() string { return strings.Join(term.Screen().Lines, "\n") }
	until := func(matches func(string) bool) error {
		for !matches(rows()) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("type %q by hand: %w", command, context.Cause(ctx))
			case <-time.After(handEvery):
			}
		}
		return nil
	}
	for _, key := range []byte(command) {
		if err := term.Input(ctx, []byte{key}); err != nil {
			return err
		}
		<-time.After(handEvery)
	}
	if err := until(func(s string) bool { return strings.Contains(s, command) }); err != nil {
		return err
	}
	typed := rows()
	for since := time.Now(); time.Since(since) < handPause; <-time.After(handEvery) {
		if now := rows(); now != typed {
			typed, since = now, time.Now() // wait again, because some agent CLIs draw a menu of commands with a delay
		}
	}
	if err := term.Input(ctx, []byte("\r")); err != nil {
		return err
	}
	return until(func(s string) bool { return s != typed })
}
