package conformance

import (
	"net/http"
	"strings"
	"testing"

	"coleo.dev/conformance/modelserver"
)

// An agent CLI can send two prompts that it has queued in one message. A prompt that was submitted twice must count
// twice there too.
func TestAPromptThatIsTwiceInOneMessageCountsTwice(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`[{"type":"text","text":"say a"}]`:                                                                   1,
		`[{"type":"text","text":"say a"},{"type":"text","text":"say a"}]`:                                    2,
		`[{"type":"text","text":"say a "},{"type":"text","text":"say b"}]`:                                   1,
		`[{"type":"text","text":"say b"},{"type":"text","text":"say a b"}]`:                                  0,
		`[{"type":"text","text":"<system-reminder>say a</system-reminder>"},{"type":"text","text":"say a"}]`: 1,
	} {
		m, err := modelserver.Start(modelserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		text := `{"model":"m","max_tokens":9,"tools":[{"name":"x","input_schema":{}}],"messages":[{"role":"user","content":` +
			body + `}]}`
		resp, err := http.Post(m.URL()+"/v1/messages", "application/json", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := timesPrompted(m, "say a"); got != want {
			t.Errorf("in %s, the prompt counts %d times, want %d", body, got, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
