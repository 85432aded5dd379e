package codex

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/record"
)

// forkedRollout returns the rollout of a copy. Codex writes the lines of the original conversation again, with new
// times. The ids have the form of Codex 0.169.0: they begin with the time at which they were made.
func forkedRollout() string {
	var out strings.Builder
	write := func(second int, kind, payload string) {
		fmt.Fprintf(&out, `{"timestamp":"2026-11-24T09:00:%02dZ","type":"%s","payload":{%s}}`+"\n", second, kind, payload)
	}
	turn := func(second int, id, thread, word string, input int) {
		write(second, "event_msg", `"type":"task_started","turn_id":"`+id+`"`)
		write(second, "turn_context", `"turn_id":"`+id+`","model":"m"`)
		write(second, "event_msg", `"type":"item_completed","turn_id":"`+id+`","thread_id":"`+thread+
			`","item":{"type":"UserMessage","content":[{"type":"text","text":"`+word+` prompt"}]}`)
		write(second, "token_usage_record", fmt.Sprintf(`"turn_id":"%s","thread_id":"%s","usage":{"input_tokens":%d}`, id,
			thread, input))
		write(second, "event_msg", fmt.Sprintf(`"type":"token_count","info":{"total_token_usage":{"input_tokens":%d}}`,
			input))
		write(second, "response_item", `"type":"function_call","name":"`+word+` tool","call_id":"c","arguments":"{}"`)
		write(second, "event_msg", `"type":"task_complete","turn_id":"`+id+`","last_agent_message":"`+word+` answer"`)
	}
	write(0, "session_meta", `"id":"FORK","session_id":"FORK","forked_from_id":"ORIG"`)
	write(0, "session_meta", `"id":"ORIG","session_id":"ORIG"`)
	turn(0, "OLD", "ORIG", "old", 100)
	turn(5, "NEW", "FORK", "new", 200)
	return strings.NewReplacer(
		"ORIG", "01a20784-3156-7bb0-bc13-1f4e93b44a9e", // 2026-11-23 08:27:13
		"OLD", "01a20784-39ca-79f0-a4a5-8b8c1fe4fc31", // 2026-11-23 08:27:15
		"FORK", "01a20cc8-8e80-7bb0-bc13-1f4e93b44a9e", // 2026-11-24 09:00:00
		"NEW", "01a20cc8-a208-7bb0-bc13-1f4e93b44a9e", // 2026-11-24 09:00:05
	).Replace(out.String())
}

// A session ignores what is older than the agent CLI. Otherwise the arm of a copy would have all runs of the original
// once more, and their cost.
func TestTheLinesOfTheOriginalHaveTheirOwnTimes(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 24, 8, 59, 59, 0, time.UTC)
	d := newDecoder()
	old, input := "", 0
	var news []string
	for line := range strings.Lines(forkedRollout()) {
		for _, e := range d.Decode([]byte(line)) {
			if e.Time.Before(began) {
				old += e.Text
				continue
			}
			if e.Kind != record.Detail {
				news = append(news, string(e.Kind)+" "+e.Text)
			}
			if u, ok := e.Work.(coleo.ReplyUsage); ok {
				input += u.Input
			}
		}
	}
	if got, want := strings.Join(news, ", "), "prompt new prompt, tool new tool, end new answer"; got != want {
		t.Errorf("the arm has %s; want %s", got, want)
	}
	if input != 200 {
		t.Errorf("the arm has used %d tokens, want 200", input)
	}
	if !strings.Contains(old, "old prompt") || !strings.Contains(old, "old answer") {
		t.Errorf("the copied conversation lacks its beginning: %s", old)
	}
}
