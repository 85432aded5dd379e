package pack

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
)

func TestKeysAreKeptSafe(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	if info, err := os.Stat(s.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key has %v, %v", info.Mode(), err)
	}
	if _, err := NewKey(s.file); coleo.ErrorCode(err) != coleo.EConflict {
		t.Errorf("a second key in the same file gives %v", err)
	}
	if key, err := ReadPublicKey(s.file + ".pub"); err != nil || !key.Equal(s.key) {
		t.Errorf("the public key reads as %v, %v", key, err)
	}
	if _, err := ReadPublicKey(s.file); coleo.ErrorCode(err) != coleo.EInvalid ||
		!strings.Contains(err.Error(), "is a private key") {
		t.Errorf("a private key in place of a public one gives %v", err)
	}
	if err := os.Chmod(s.file+".pub", 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPublicKey(s.file + ".pub"); coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a public key that others can write gives %v", err)
	}
	if err := os.Chmod(s.file, 0o640); err != nil {
		t.Fatal(err)
	}
	_, err := Make(s.file, Order{}, today())
	if coleo.ErrorCode(err) != coleo.EForbidden {
		t.Errorf("a private key that others can read gives %v", err)
	}
}

func TestMakeNamesTheLineOfTheRules(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	order := Order{Harness: "mine", Versions: []string{"2.0"}, Serial: 1, Expires: "2026-12-31", File: "rules.toml"}
	for text, want := range map[string]string{
		ruleText + "approve = \"x\"\n":   `rules.toml:5:1: unknown key "rule.approve"`,
		"harness = \"x\"\n" + ruleText:   `rules.toml:1:1: unknown key "harness"`,
		strings.Repeat("#", MaxSize+1):   "has more than",
		strings.Repeat("#", MaxSize-100): "", // a file without any rule
	} {
		order.Rules = []byte(text)
		if data, err := Make(s.file, order, today()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes, error %v; want %q", len(data), err, want)
		}
	}
	order.Rules, order.Expires = []byte(ruleText), "2026-11-01"
	if _, err := Make(s.file, order, today()); err == nil {
		t.Error("an expired pack was made")
	}
}
