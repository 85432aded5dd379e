package coleo

import (
	"fmt"
	"strings"
	"testing"
)

func TestLabelsAreParsedAndChanged(t *testing.T) {
	t.Parallel()
	many := make([]string, 17)
	for i := range many {
		many[i] = fmt.Sprintf("k%d=v", i)
	}
	for name, c := range map[string]struct {
		words []string
		want  string // the labels after the change of an arm with team=a and old=x, or the error
	}{
		"nothing":                    {nil, "old=x,team=a"},
		"a new one":                  {[]string{"k=v"}, "k=v,old=x,team=a"},
		"another value":              {[]string{"team=b"}, "old=x,team=b"},
		"one less":                   {[]string{"old-"}, "team=a"},
		"one that is not there less": {[]string{"none-"}, "old=x,team=a"},
		"some of each":               {[]string{"old-", "k.8s/a-b=1_2"}, "k.8s/a-b=1_2,team=a"},
		"a value that ends in minus": {[]string{"k=v-"}, "! bad key or value"},
		"a key that ends in minus":   {[]string{"k-=v"}, "! bad key or value"},
		"a blank":                    {[]string{"a b=c"}, "! bad key or value"},
		"a comma":                    {[]string{"a=b,c"}, "! bad key or value"},
		"a second equals sign":       {[]string{"a=b=c"}, "! bad key or value"},
		"no key":                     {[]string{"=v"}, "! bad key or value"},
		"no value":                   {[]string{"k="}, "! bad key or value"},
		"a long value":               {[]string{"k=" + strings.Repeat("v", 64)}, "! bad key or value"},
		"neither":                    {[]string{"k"}, "! write KEY=VALUE"},
		"twice":                      {[]string{"k=v", "k-"}, "! given twice"},
		"too many":                   {many, "! at most 16"},
		"too many with the old ones": {many[:15], "! at most 16"},
	} {
		change, err := ParseLabelChange(c.words)
		was := Labels{"team": "a", "old": "x"}
		got := was
		if err == nil {
			got, err = change.Apply(was)
		}
		if fault, ok := strings.CutPrefix(c.want, "! "); ok {
			if ErrorCode(err) != EInvalid || !strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want one line with %q", name, err, fault)
			}
		} else if err != nil || got.String() != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if was.String() != "old=x,team=a" {
			t.Errorf("%s: the labels of before have become %q", name, was)
		}
	}
	if _, err := ParseLabels([]string{"team-"}); ErrorCode(err) != EInvalid {
		t.Errorf("a removal as a label: %v", err)
	}
}

func TestASelectorWantsAllOfItsLabels(t *testing.T) {
	t.Parallel()
	arm := Labels{"team": "a", "k": "v"}
	for _, c := range []struct {
		want Labels
		has  bool
	}{{nil, true}, {Labels{"team": "a"}, true}, {arm, true}, {Labels{"team": "b"}, false}, {Labels{"x": ""}, false},
		{Labels{"team": "a", "x": "y"}, false}} {
		if got := arm.Has(c.want); got != c.has {
			t.Errorf("%v has %v: %t", arm, c.want, got)
		}
	}
}

func TestASelectorHasConditions(t *testing.T) {
	t.Parallel()
	arm := Labels{"team": "a", "k.8s/app": "v-1"}
	for text, want := range map[string]string{
		"team=a":             "yes",
		"team==a":            "yes",
		"team = a":           "yes",
		"team=b":             "no",
		"team!=b":            "yes",
		"team!=a":            "no",
		"none!=a":            "yes",
		"none=a":             "no",
		"team":               "yes",
		"none":               "no",
		"!team":              "no",
		"!none":              "yes",
		"k.8s/app=v-1":       "yes",
		"team=a,!none":       "yes",
		"team=a, none":       "no",
		"team,team!=b,!none": "yes",
		"":                   "bad",
		",":                  "bad",
		"team=a,":            "bad",
		"team=":              "bad",
		"team!=":             "bad",
		"=a":                 "bad",
		"!team=a":            "bad",
		"!!team":             "bad",
		"!":                  "bad",
		"team in (a, b)":     "bad",
		"team===a":           "bad",
		"team!==a":           "bad",
		"team-":              "bad",
		"team=a b":           "bad",
		"team>1":             "bad",
	} {
		s, err := ParseSelector([]string{text})
		switch {
		case want == "bad":
			if ErrorCode(err) != EInvalid || s != nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, %v; want one line with what is wrong", text, s, err)
			}
		case err != nil || s.Selects(arm) != (want == "yes"):
			t.Errorf("%q selects %v: %t, %v", text, arm, s.Selects(arm), err)
		}
	}
	if s, err := ParseSelector(nil); err != nil || !s.Selects(nil) {
		t.Errorf("no selector: %v, %v", s, err)
	}
	if s, err := ParseSelector([]string{"team=a", "none"}); err != nil || s.Selects(arm) {
		t.Errorf("two selectors: %v, %v; want that both count", s, err)
	}
}
