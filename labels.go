package coleo

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Labels are words that a person writes on an arm, as keys with values. They are used to select
// arms. An operator token with labels reaches only the arms that have all of these labels.
type Labels map[string]string

// maxLabels is the maximum number of labels of one arm. 16 labels fit into one or two lines of a
// terminal.
const maxLabels = 16

// labelWord matches a valid key or value of a label. A word that ends with '-' does not match.
// Therefore the word KEY- can only be an order to remove the label KEY.
var labelWord = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`)

// Check returns EInvalid if there are too many labels, or if a key or value has a bad form.
func (l Labels) Check() error {
	for _, key := range slices.Sorted(maps.Keys(l)) {
		for _, word := range []string{key, l[key]} {
			if !labelWord.MatchString(word) {
				return Errorf(EInvalid, "the label %q has a bad key or value: use 1 to 63 letters, digits, '.', '_', '/' or '-', "+
					"beginning and ending with a letter or digit; nothing was done", key+"="+l[key])
			}
		}
	}
	if len(l) > maxLabels {
		return Errorf(EInvalid, "an arm has at most %d labels, and these are %d; nothing was done", maxLabels, len(l))
	}
	return nil
}

// Has reports whether l includes all of the wanted labels.
func (l Labels) Has(wanted Labels) bool {
	for key, value := range wanted {
		if got, ok := l[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// String returns the labels as KEY=VALUE, separated by commas and sorted by key.
func (l Labels) String() string {
	words := make([]string, 0, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		words = append(words, key+"="+l[key])
	}
	return strings.Join(words, ",")
}

// ParseLabels parses words of the form KEY=VALUE. It returns EInvalid for any other form, and for a
// repeated key.
func ParseLabels(words []string) (Labels, error) {
	change, err := ParseLabelChange(words)
	if err == nil && len(change.Remove) > 0 {
		err = Errorf(EInvalid, "%q is not a label: write KEY=VALUE", change.Remove[0]+"-")
	}
	return change.Set, err
}

// LabelChange says which labels of an arm to set, and which keys to remove.
type LabelChange struct {
	Set    Labels   `json:"set,omitempty" doc:"Labels to add or to replace"`
	Remove []string `json:"remove,omitempty" doc:"Keys of labels to remove; a key that the arm lacks is no error"`
}

// ParseLabelChange parses the words of a change. A word of the form KEY=VALUE sets a label, and a
// word of the form KEY- removes a label. ParseLabelChange returns EInvalid for any other form, and
// for a repeated key.
func ParseLabelChange(words []string) (LabelChange, error) {
	var c LabelChange
	for _, word := range words {
		key, value, set := strings.Cut(word, "=")
		bare, removed := strings.CutSuffix(word, "-")
		if !set {
			key = bare
		}
		switch _, twice := c.Set[key]; {
		case twice, slices.Contains(c.Remove, key):
			return c, Errorf(EInvalid, "the label %q is given twice", key)
		case set:
			if c.Set == nil {
				c.Set = Labels{}
			}
			c.Set[key] = value
		case removed:
			c.Remove = append(c.Remove, key)
		default:
			return c, Errorf(EInvalid, "%q is not a label: write KEY=VALUE to set one, or KEY- to remove one", word)
		}
	}
	return c, c.Set.Check()
}

// Apply returns the labels after the change. It returns EInvalid if a label has a bad form, or if
// the change leads to too many labels. It does not change its argument.
func (c LabelChange) Apply(l Labels) (Labels, error) {
	if err := c.Set.Check(); err != nil {
		return l, err
	}
	next := maps.Clone(l)
	for _, key := range c.Remove {
		delete(next, key)
	}
	if next == nil {
		next = Labels{}
	}
	maps.Copy(next, c.Set)
	return next, next.Check()
}

// Selector selects arms by their labels. It selects the arms that meet all of its conditions. An
// empty Selector selects every arm.
type Selector []labelCondition

// labelCondition is a condition on the label with one key.
type labelCondition struct {
	key, value string
	anyValue   bool // whether the condition is about the key only, so that any value fits
	negated    bool
}

// ParseSelector parses words. Each word contains one or several conditions, separated by commas:
//
//   - KEY=VALUE or KEY==VALUE: the arm has this label.
//   - KEY!=VALUE: the arm does not have this label. An arm without the key also meets this condition.
//   - KEY or !KEY: the arm has the key, or lacks it.
//
// ParseSelector returns EInvalid for any other form, and for an empty condition. Therefore an empty
// shell variable never selects every arm.
func ParseSelector(words []string) (Selector, error) {
	var out Selector
	for _, text := range words {
		for word := range strings.SplitSeq(text, ",") {
			one, ok := parseCondition(strings.TrimSpace(word))
			if !ok {
				return nil, Errorf(EInvalid, "the selector %q has the bad condition %q: write KEY=VALUE, KEY!=VALUE, KEY or !KEY, "+
					"separated by commas; nothing was done", text, word)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func parseCondition(word string) (labelCondition, bool) {
	key, value, valued := strings.Cut(word, "=")
	c := labelCondition{key: key, value: value, anyValue: !valued}
	if valued {
		c.value = strings.TrimPrefix(value, "=")
		if c.key, c.negated = strings.CutSuffix(key, "!"); c.negated {
			c.value = value
		}
	} else {
		c.key, c.negated = strings.CutPrefix(key, "!")
	}
	c.key, c.value = strings.TrimSpace(c.key), strings.TrimSpace(c.value)
	return c, labelWord.MatchString(c.key) && (c.anyValue || labelWord.MatchString(c.value))
}

// Selects reports whether labels meet all conditions.
func (s Selector) Selects(l Labels) bool {
	return !slices.ContainsFunc(s, func(c labelCondition) bool {
		value, has := l[c.key]
		return (has && (c.anyValue || value == c.value)) == c.negated
	})
}

// Labelled is the payload of an arm.labels event.
type Labelled struct {
	Labels map[string]string `json:"labels"` // all labels of the arm after the change
}
