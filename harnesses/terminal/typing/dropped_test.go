package typing

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coleo.dev"
)

// dropping is a fake program that obeys keys. It can drop the first ENTER keys, or read nothing for
// a while.
type dropping struct {
	enters   int           // the number of ENTER keys that it drops
	stalls   time.Duration // how long it reads nothing after the first ENTER
	asks     bool          // it shows a dialog after the first ENTER
	dropsAll bool          // it drops each key after the first ENTER
	failed   bool          // its last turn has failed, and the screen still shows the error
	text     string
	prompts  []string
	dialog   bool
	stallEnd time.Time
}

// take obeys one key, and returns what the program prints.
func (d *dropping) take(key string) string {
	switch {
	case d.dialog, d.dropsAll && d.stallEnd.Before(time.Now()) && !d.stallEnd.IsZero():
		return ""
	case key != "\r" && key != "\x7f":
		d.text += key
	case key == "\x7f":
		d.text = d.text[:len(d.text)-1]
	case d.enters > 0:
		d.enters--
	default:
		d.prompts, d.text = append(d.prompts, d.text), ""
		return redrawn("you: "+d.prompts[len(d.prompts)-1]+"\nworking\n", "type")
	}
	if key == "\r" && d.asks {
		d.dialog = true
		return "\r\x1b[A\x1b[Jrun it?"
	}
	return redrawn("", d.text)
}

// sendTo sends a prompt to a program that obeys keys, and also returns the typed keys.
func (d *dropping) sendTo(t *testing.T, prompt string) (typed string, proof coleo.Proof, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := setStage(t, failing(submitSpec), 40, 8)
		above, state := "", coleo.Idle
		if d.failed {
			above, state = "it failed\r\n", coleo.Failed
		}
		st.say(above + composing("type"))
		st.awaitState(state)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			var r coleo.Receipt
			r, err = st.SendPrompt(ctx, coleo.Prompt{Text: prompt})
			proof = r.Proof
		}()
		for taken, over := 0, false; !over; {
			select {
			case <-done:
				over = true
			case <-time.After(5 * time.Millisecond):
			}
			all := st.typed()
			if len(all) > taken && d.stallEnd.IsZero() && all[taken] == '\r' {
				d.stallEnd = time.Now().Add(d.stalls)
			}
			if time.Now().Before(d.stallEnd) || len(all) == taken {
				continue
			}
			key := all[taken : taken+1]
			if strings.HasPrefix(all[taken:], prompt) {
				key = prompt
			}
			taken += len(key)
			st.say(d.take(key))
		}
		typed = st.typed()
	})
	return typed, proof, err
}

// The submit key must be pressed a second time if, and only if, the agent CLI has dropped it.
func TestASubmitKeyThatWasDroppedIsPressedAgain(t *testing.T) {
	t.Parallel()
	const pressedTwice = "do it\r.\x7f\r"
	for name, tt := range map[string]struct {
		program dropping
		typed   string
		prompts int
		proof   coleo.Proof
	}{
		"taken at once":           {dropping{}, "do it\r", 1, coleo.ProofStarted},
		"dropped once":            {dropping{enters: 1}, pressedTwice, 1, coleo.ProofStarted},
		"dropped after a failure": {dropping{enters: 1, failed: true}, pressedTwice, 1, coleo.ProofStarted},
		"dropped twice":           {dropping{enters: 2}, pressedTwice, 0, ""},
		"read late, and taken":    {dropping{stalls: 35 * time.Second}, "do it\r.", 1, coleo.ProofStarted},
		"read late, and dropped":  {dropping{stalls: 35 * time.Second, enters: 1}, pressedTwice, 1, coleo.ProofStarted},
		"not read":                {dropping{stalls: time.Hour}, "do it\r.", 0, ""},
		"the probe is not read":   {dropping{enters: 1, dropsAll: true, stalls: time.Nanosecond}, "do it\r.", 0, ""},
		"a dialog after it":       {dropping{enters: 1, asks: true}, "do it\r", 0, coleo.ProofStarted},
		"a dialog, and it came late": {dropping{enters: 1, asks: true, stalls: 35 * time.Second}, "do it\r.", 0,
			coleo.ProofStarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tt.program
			typed, proof, err := d.sendTo(t, "do it")
			if typed != tt.typed || proof != tt.proof || len(d.prompts) != tt.prompts {
				t.Errorf("typed %q, proof %q, %v, and the program took %q; want %q, proof %q, %d prompts", typed, proof, err,
					d.prompts, tt.typed, tt.proof, tt.prompts)
			}
			if tt.proof == "" && coleo.ErrorCode(err) != coleo.EPromptLost {
				t.Errorf("%v, want %s", err, coleo.EPromptLost)
			}
		})
	}
}
