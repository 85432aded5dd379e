package verb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/verb"
)

func TestNumbersHaveTheirNoun(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := verb.Counted(n, "file"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestACauseHasNoCallAndNoPath(t *testing.T) {
	t.Parallel()
	_, err := os.Open(filepath.Join(t.TempDir(), "absent"))
	if got := verb.Cause(err).Error(); got != "no such file or directory" {
		t.Errorf("the cause is %q", got)
	}
}

// executed runs a verb with flags. It returns the exit code and the printed error.
func executed(ctx context.Context, run func(context.Context) error, args ...string) (int, string) {
	c := &cobra.Command{Use: "try", SilenceErrors: true, SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) }}
	c.SetFlagErrorFunc(verb.FlagError)
	c.PersistentFlags().Bool("json", false, "")
	c.Flags().Duration("timeout", time.Second, "")
	c.Flags().IntP("number", "n", 1, "")
	c.Flags().Bool("squash", false, "")
	c.Flags().Bool("rebase", false, "")
	c.MarkFlagsMutuallyExclusive("squash", "rebase")
	var errs bytes.Buffer
	c.SetErr(&errs)
	return verb.Execute(ctx, c, args), errs.String()
}

func TestAWrongFlagIsToldInWordsForPeople(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--timeout 3": `--timeout takes a number with a unit, such as 30s or 5m, not "3"`,
		"-n x":        `--number takes a whole number, not "x"`,
		"--none":      "unknown flag: --none (see try --help)",
		"--squash --rebase": "--rebase and --squash exclude each other: give one of them; " +
			"nothing was done",
	} {
		code, text := executed(t.Context(), func(context.Context) error { return nil }, strings.Fields(args)...)
		if code != 2 || !strings.HasPrefix(text, "coleo: "+want) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s\nwant %s", args, code, text, want)
		}
	}
}

func TestAnInterruptedVerbSaysWhatContinues(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, text := executed(ctx, func(ctx context.Context) error { return ctx.Err() })
	if code != 1 || strings.Contains(text, "context canceled") || !strings.Contains(text, "arms continue to run") {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// TestATerminalObeysNothingInAnError: an arm chooses the names of its files and branches. In an error,
// they must not contain characters that a terminal obeys.
func TestATerminalObeysNothingInAnError(t *testing.T) {
	t.Parallel()
	_, got := executed(t.Context(), func(context.Context) error {
		return coleo.Errorf(coleo.EConflict, "refs/heads/\x1b]0;x\aname\u202e is a link\n\tthe file ä \xff")
	})
	if want := "coleo: refs/heads/\\x1b]0;x\\x07name\\u202e is a link\n\tthe file ä \\xff\n"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}

// TestAnErrorSaysEverything: a verb can add to the error of serve what it has done before, or report the errors of
// several arms. The user must see all of it.
func TestAnErrorSaysEverything(t *testing.T) {
	t.Parallel()
	one := coleo.Errorf(coleo.ENotFound, "no prompt 2")
	for want, err := range map[string]error{
		"coleo: after 1 prompt was removed: no prompt 2\n": fmt.Errorf("after 1 prompt was removed: %w", one),
		"coleo: no prompt 2\nno prompt 3\n":                errors.Join(one, coleo.Errorf(coleo.ENotFound, "no prompt 3")),
		"coleo: no prompt 2\n":                             errors.Join(nil, one),
	} {
		if code, got := executed(t.Context(), func(context.Context) error { return err }); code != 4 || got != want {
			t.Errorf("exit code %d and %q, want %q", code, got, want)
		}
	}
}
