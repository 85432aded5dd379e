package choosing

import (
	"testing"

	"coleo.dev"
)

// A person orders a mode with instructions while a prompt without them is being typed. The instructions must
// come with the next prompt.
func TestInstructionsThatComeDuringAPromptAreNotForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sent := b.WithInstructions("look")
	if _, err := b.switchMode(coleo.ModeOrder{Mode: "review"}); err != nil {
		t.Fatal(err)
	}
	b.ForgetInstructions(t.Context(), sent)
	if text := b.WithInstructions("look"); text != "Only review.\n\nlook" {
		t.Errorf("the next prompt is %q", text)
	}
}
