// Package codex drives Codex. harness.toml describes Codex's screen. The code finds the
// conversations of Codex, and reads answers from them.
package codex

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal"
	"coleo.dev/record"
)

// Spec is the harness's description as TOML.
//
//go:embed harness.toml
var Spec []byte

// Hooks returns the hooks for Codex. They find a conversation by its work folder, and read answers
// and usage from the conversation's rollout file below HOME.
func Hooks() terminal.Hooks {
	return terminal.Hooks{Conversation: conversation, Answer: answer, Usage: usage, Record: conversations,
		Threads: threads}
}

// entry contains the fields that Coleo reads of a rollout line (0.169.0).
type entry struct {
	Time    time.Time `json:"timestamp"`
	Payload struct {
		Type string `json:"type"`
		Last string `json:"last_agent_message"`
	} `json:"payload"`
}

var rolloutName = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$`)

// conversation returns the id of the newest conversation that began in the work folder since Codex was
// started. It returns "" before the first prompt. Rollouts of subagents do not count, because they are
// newer than the rollout of the conversation to which they belong. The rollouts of another Codex in the
// same folder do not count either.
func conversation(_ context.Context, f terminal.Facts) (string, error) {
	found, err := conversations.In(f.Folder).All(f.Home)
	if err != nil {
		return "", err
	}
	slices.Sort(found)
	for _, path := range slices.Backward(found) { // the paths contain the time, so the last one is the newest
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Before(f.Started) {
			continue
		}
		line, _, err := firstLine(path)
		if err != nil {
			continue
		}
		var head record.Header
		readHeader(line, &head)
		ours := record.SameFolder(head.Folder, f.Workdir) && head.Hidden != record.HiddenSubagent &&
			!sessionStart(line, info.ModTime()).Before(f.Started.Truncate(time.Millisecond))
		id := threadIn(path)
		if ours && id != "" && (f.Mine == nil || f.Mine(id, info.ModTime())) {
			return id, nil
		}
	}
	return "", nil
}

// sessionStart returns when the Codex that began a rollout was started, according to the first line of the rollout.
// If the line does not contain the time, it returns `otherwise`.
func sessionStart(line []byte, otherwise time.Time) time.Time {
	var head struct {
		Payload struct {
			Time time.Time `json:"timestamp"`
		} `json:"payload"`
	}
	if json.Unmarshal(line, &head) != nil || head.Payload.Time.IsZero() {
		return otherwise
	}
	return head.Payload.Time
}

// answer returns the last message of the turn of a prompt: the first turn that is complete after the prompt was
// submitted. The text is empty until then. It is also empty if the turn was interrupted, and another turn has begun.
// Coleo may have noticed a prompt that it did not send only after its turn, so such a prompt gets the newest message.
func answer(ctx context.Context, f terminal.Facts, r coleo.Receipt) (coleo.Answer, error) {
	path := rollout(ctx, f)
	if path == "" {
		return coleo.Answer{}, nil
	}
	last, begun, isOver := "", 0, false
	isOurs := r.Origin == ""
	err := terminal.EachEntry(path, func(e entry) {
		switch {
		case isOurs && (isOver || e.Time.Before(r.Time.Truncate(time.Millisecond))):
		case e.Payload.Type == "task_started":
			begun++
			last, isOver = "", begun > 1
		case e.Payload.Type == "task_complete":
			last, isOver = e.Payload.Last, true
		}
	})
	return coleo.Answer{Text: last, Source: "transcript"}, err
}

// rollout returns the path of the conversation's newest rollout, or "" if there is
// none.
func rollout(ctx context.Context, f terminal.Facts) string {
	if f.Conversation == "" {
		f.Conversation, _ = conversation(ctx, f)
	}
	return conversations.In(f.Folder).Find(record.Where{Home: f.Home, Conversation: f.Conversation})
}

// costs is the token count that Codex adds to a rollout after each reply (0.169.0).
type costs struct {
	Payload struct {
		Type string `json:"type"`
		Info *struct {
			Total tokens `json:"total_token_usage"`
		} `json:"info"`
	} `json:"payload"`
}

// usage returns the newest token count in the rollout.
func usage(ctx context.Context, f terminal.Facts) (coleo.Usage, error) {
	path := rollout(ctx, f)
	if path == "" {
		return coleo.Usage{}, nil
	}
	var u coleo.Usage
	err := terminal.EachEntry(path, func(l costs) {
		if l.Payload.Type == "token_count" && l.Payload.Info != nil {
			u = l.Payload.Info.Total.usage()
		}
	})
	return u, err
}
