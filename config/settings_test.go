package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

func TestBudgetsAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"[budget]\nday = 2.5\nfleet = 30\npolicy = \"stop\"\nmax_output = 64000\n[budget.projects]\n\"/a\" = 4": "",
		"\n[sandbox]\nlimit = \"ram=4G\"":              `:3: limit = "ram=4G": "ram=4G" is none of memory=SIZE`,
		"[budget]\npolicy = \"cry\"":                   `:2: policy = "cry" is none of "warn", "park" and "stop"`,
		"[budget]\nfleet = 1\nday = -1":                ":3: day = -1 cannot be a budget",
		"[budget]\nfleet = nan":                        ":2: fleet = NaN cannot be a budget",
		"[budget]\nmax_output = -5":                    ":2: max_output = -5 is not between 0 and 2000000 tokens",
		"[budget.projects]\n\"/b\" = 1\n\"src/a\" = 4": `:3: the project "src/a" is not an absolute path`,
		"[budget.projects]\n\"/a\" = 1e9":              `:2: 1e+09 cannot be the budget of the project "/a"`,
		"[budget]\nday = \"much\"":                     ":2:7: ",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(path)
		switch {
		case want == "" && (err != nil || s.Budgets().Any() != (text != "")):
			t.Errorf("%q: %+v, %v", text, s.Budgets(), err)
		case want != "" && (coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), path+want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTheNumberOfArmsIsChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte("[arms]\nmax_arms = -1"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadSettings(path)
	want := path + ":2: max_arms = -1 is less than 0"
	if coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestHowMuchOutputIsKeptIsChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		keep int64
		err  string
	}{
		"":                                   {keep: 256},
		"[arms]\nkeep_mib = 64":              {keep: 64},
		"[arms]\nmodel = \"\"\nkeep_mib = 3": {err: ":3: keep_mib = 3 is not between 4 and 1048576"},
		"[arms]\nkeep_mib = -1":              {err: ":2: keep_mib = -1 is not between"},
		"[arms]\nkeep_mib = \"4 GB\"":        {err: ":2:12: "},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(path)
		if want.err == "" && (err != nil || s.Arms.Keep != want.keep) {
			t.Errorf("%q: keeps %d MiB (%v), want %d", text, s.Arms.Keep, err, want.keep)
		}
		if want.err != "" && (coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), path+want.err)) {
			t.Errorf("%q: %v, want %q", text, err, want.err)
		}
	}
}

func TestAListIsReadOutOfAFileOfAnotherProgram(t *testing.T) {
	t.Parallel()
	const text = "other = { x = 1 }\ntold = [\"a\", 'b']\nnumber = 1\nmixed = ['a', 1]\n[table]\ntold = []\n"
	if got, err := Strings([]byte(text), "told"); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Strings([]byte(text), "nowhere"); err != nil || got != nil {
		t.Errorf("a key that is not there: %q, %v", got, err)
	}
	for _, key := range []string{"number", "mixed", "table"} {
		if got, err := Strings([]byte(text), key); err == nil {
			t.Errorf("%s: %q, want an error", key, got)
		}
	}
	if _, err := Strings([]byte("told = ["), "told"); err == nil {
		t.Error("a text that is no TOML: want an error")
	}
}

// A setting that Coleo cannot follow must be an error. Otherwise the user would believe that it is in effect.
func TestASettingThatWouldBeIgnoredIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version = 1":                         "",
		"version = 2":                         ":1: version = 2 is newer than this Coleo, which knows version 1",
		"version = -1":                        ":1: version = -1 is not a version",
		"[agents]\npath = [\"/opt/bin\"]":     "",
		"[agents]\npath = [\"/a\",\n\"bin\"]": `:3: the folder "bin" is not an absolute path`,
		"[agents]\npath = [\"~/bin\"]":        `:2: the folder "~/bin" is not an absolute path`,
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadSettings(path)
		if want == "" && err != nil || want != "" && (coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.Contains(err.Error(), path+want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestModelsAndPricesAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[models]\nfallback = \"cheaper\"":                                  "",
		"[prices]\n\"p/m\" = { input = 0, output = 1.5, cache_read = 0.1 }": "",
		"[prices.\"p/m/x\"]\ninput = 1\noutput = 2":                         "",
		"[models]\nfallback = \"best\"":                                     `:2: fallback = "best" is none of`,
		"[prices]\n\"p/m\" = { input = 1 }":                                 `:2: the price of "p/m" needs input and output`,
		"[prices]\n\"p/m\" = { input = -1, output = 1 }":                    `:2: the price of "p/m" cannot be -1`,
		"[prices]\n\"p/m\" = { input = nan, output = 1 }":                   `:2: the price of "p/m" cannot be NaN`,
		"[prices]\n\"p/m\" = { input = inf, output = 1 }":                   `:2: the price of "p/m" cannot be +Inf`,
		"[prices]\n\"p/m\" = { input = 1, output = 1, cache_write = -0.5 }": `:2: the price of "p/m" cannot be -0.5`,
		"[prices]\n\"p/m\" = { input = \"1\", output = 1 }":                 ":2:",
		"[prices.\"p/m\"]\ninput = 1\noutput = 2\n" +
			"[prices.\"p/m\"]\ninput = 1": ":4:",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(path)
		if want == "" && err != nil || want != "" && (coleo.ErrorCode(err) != coleo.EInvalid ||
			!strings.Contains(err.Error(), path+want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil {
			continue
		}
		if p, ok := s.OwnPrices()["p/m"]; ok && (p.CacheRead != 0.1 || p.CacheWrite != 0 || p.Source != coleo.PriceOverride) {
			t.Errorf("%q: the price is %+v", text, p)
		}
	}
}
