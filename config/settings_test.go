package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

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
