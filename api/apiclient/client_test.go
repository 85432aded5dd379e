package apiclient

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
)

func TestTheClientSaysWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Socket: filepath.Join(t.TempDir(), "none.sock")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Arms(t.Context(), false)
	if coleo.ErrorCode(err) != coleo.EUnavailable || !strings.Contains(err.Error(), "coleo serve") {
		t.Errorf("error = %v", err)
	}
	for _, u := range []string{"", "127.0.0.1:8080", "ftp://x", "http://"} {
		if _, err := New(Config{URL: u}); coleo.ErrorCode(err) != coleo.EInvalid {
			t.Errorf("New(%q) = %v, want invalid", u, err)
		}
	}
}

func TestTheClientWaitsAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	n := 0
	got, err := poll(t.Context(), func(time.Duration) (int, error) {
		if n++; n < 3 {
			return 0, coleo.Errorf(coleo.ETimeout, "not yet")
		}
		return n, nil
	})
	if got != 3 || err != nil {
		t.Errorf("poll = %d, %v, want the third answer", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = poll(ctx, func(wait time.Duration) (int, error) {
		if wait > time.Second {
			t.Errorf("polls for %s, longer than its context", wait)
		}
		return 0, coleo.Errorf(coleo.ETimeout, "not yet")
	})
	if coleo.ErrorCode(err) != coleo.ETimeout {
		t.Errorf("poll = %v, want timeout", err)
	}
}
