package rules

import (
	"reflect"
	"regexp"
	"testing"
)

func TestAPatternIsAskedOnlyOfWhatHoldsItsWords(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		`(?m)^ *Do you want to proceed\?`: {"Do you want to proceed?"},
		`^(Yes|No, stop it) .*\?$`:        {"Yes", "No, stop it"},
		`^(Allow|Apply this) .*\?$`:       {"llow", "pply this"}, // Go's parser takes "A" out as a common prefix
		`(?i)press esc`:                   nil,
		`(yes|\d) no+`:                    {" n"},
		`(ab)?c*`:                         nil,
		`(ab){2,3}x`:                      {"ab"},
		`[ab]`:                            nil,
		`(a|b|)z?`:                        nil,
		`.*`:                              nil,
		`(`:                               nil,
	} {
		if got := needsOf(pattern); !reflect.DeepEqual(got, want) {
			t.Errorf("%s needs %q, want %q", pattern, got, want)
		}
	}
}

// For each pattern, Coleo computes a list of words. Each text that the pattern matches must contain at least
// one of these words. FuzzNeeds checks this.
func FuzzNeeds(f *testing.F) {
	f.Add(`(?m)^ (Allow once|Reject)\s+(x|yz)+$`, " Reject  x")
	f.Add(`a{0}b{2}|(?s:c.)`, "bb")
	f.Add(`(?U)\bÄ+?`, "ÄÄ")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || !re.MatchString(text) {
			t.Skip()
		}
		if c := (&Cond{needs: needsOf(pattern)}); !c.mayMatch(text) {
			t.Errorf("%q matches %q, which has none of %q", pattern, text, c.needs)
		}
	})
}
