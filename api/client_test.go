package api

import (
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

func TestTheClientSaysWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	c, err := NewClient(ClientConfig{Socket: filepath.Join(t.TempDir(), "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Arms(t.Context(), false)
	if coleo.ErrorCode(err) != coleo.EUnavailable || !strings.Contains(err.Error(), "coleo serve") {
		t.Errorf("error = %v", err)
	}
	for _, u := range []string{"", "127.0.0.1:8080", "ftp://x", "http://"} {
		if _, err := NewClient(ClientConfig{URL: u}); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("NewClient(%q) = %v, want invalid", u, err)
		}
	}
}
