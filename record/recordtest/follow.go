package recordtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// followLimit is the longest time that Tokens waits for the entries of the records.
const followLimit = time.Minute

// Tokens writes files into a new HOME, and follows the records of the conversation and of its subagents
// there. It returns the tokens of each reply, in order. The map `files` contains the content of each file
// by its path below HOME.
func Tokens(t *testing.T, s record.Source, conversation string, files map[string]string) (out []coleo.ReplyUsage) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := record.NewFollower(s, func() record.Where { return record.Where{Home: home, Conversation: conversation} },
		func(entries []record.Entry) {
			for _, e := range entries {
				if u, ok := e.Work.(coleo.ReplyUsage); ok {
					out = append(out, u)
				}
			}
		})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx, record.NewWatcher()); close(ended) }()
	f.CatchUp(followLimit)
	cancel()
	<-ended
	return out
}

// CheckTokens compares the result of Tokens with the wanted input tokens. If a number is
// negative, a subagent must have used that many tokens.
func CheckTokens(t *testing.T, got []coleo.ReplyUsage, want ...int) {
	t.Helper()
	equal := len(got) == len(want)
	for i, u := range got {
		in := u.Input
		if u.Subagent {
			in = -in
		}
		equal = equal && in == want[i] && u.Model != ""
	}
	if !equal {
		t.Errorf("the tokens are %+v, want %d", got, want)
	}
}
