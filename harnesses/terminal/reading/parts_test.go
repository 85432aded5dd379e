package reading

import (
	"strings"
	"testing"
)

// A question that is drawn in parts must keep its fingerprint. But if a key may have answered the question
// between two parts, the second part must count as another question.
func TestAQuestionThatIsDrawnInPartsIsTheSame(t *testing.T) {
	t.Parallel()
	whole := numbered.Replace(fruits("☐", " ", " ", " ] Type something"))
	part := strings.Replace(whole, "  2. [ ] Banana\n         a yellow one\n", "", 1)
	for name, c := range map[string]struct {
		key  string
		same bool
	}{"nothing was typed": {"", true}, "the mark was moved": {"DOWN", true}, "it may be answered": {"ENTER", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, specFor(t, "claude"), 100, 30)
			first := w.draw(whole)
			if c.key != "" {
				w.press(c.key)
			}
			if between := w.draw(part); between.Fingerprint == first.Fingerprint || len(between.Options) >= len(first.Options) {
				t.Errorf("the part is %+v, the whole %+v", between, first)
			}
			if again := w.draw(whole); (again.Fingerprint == first.Fingerprint) != c.same {
				t.Errorf("drawn again it is %s, was %s; want the same: %t", again.Fingerprint, first.Fingerprint, c.same)
			}
		})
	}
}

// While a question is drawn again, the rest of the picture may look like work. The question must
// keep its fingerprint.
func TestAQuestionThatIsWipedForAWhileIsTheSame(t *testing.T) {
	t.Parallel()
	whole := numbered.Replace(fruits("☐", " ", " ", " ] Type something"))
	for name, c := range map[string]struct {
		key  string
		same bool
	}{"nothing was typed": {"", true}, "it may be answered": {"ENTER", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, specFor(t, "claude"), 100, 30)
			first := w.draw(whole)
			if c.key != "" {
				w.press(c.key)
			}
			w.r.dialogs.endDialog(w.now)
			if again := w.draw(whole); (again.Fingerprint == first.Fingerprint) != c.same {
				t.Errorf("drawn again it is %s, was %s; want the same: %t", again.Fingerprint, first.Fingerprint, c.same)
			}
		})
	}
}
