package modelserver

import (
	"encoding/json"
	"strings"
	"testing"
)

var someUsage = Usage{Input: 1000, Cached: 600, Written: 100, Output: 50, Reasoning: 20}

// reportedAs contains where each dialect reports the numbers of someUsage. The keys of `want` are paths in the
// last event or document with a usage.
var reportedAs = []struct {
	dialect, path, body, streamed string
	want                          map[string]float64
	record                        Usage
}{
	{anthropicDialect, "/v1/messages",
		`{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"name":"x"}]`, "",
		map[string]float64{"usage.input_tokens": 300, "usage.cache_read_input_tokens": 600,
			"usage.cache_creation_input_tokens": 100, "usage.output_tokens": 50,
			"usage.output_tokens_details.thinking_tokens": 20}, someUsage},
	{chatDialect, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"go"}],` +
		`"stream_options":{"include_usage":true}`, "",
		map[string]float64{"usage.prompt_tokens": 1000, "usage.prompt_tokens_details.cached_tokens": 600,
			"usage.prompt_tokens_details.cache_write_tokens": 100,
			"usage.completion_tokens":                        50, "usage.completion_tokens_details.reasoning_tokens": 20,
			"usage.total_tokens": 1050}, someUsage},
	{responsesDialect, "/v1/responses", `{"model":"m","input":"go"`, "response.",
		map[string]float64{"usage.input_tokens": 1000, "usage.input_tokens_details.cached_tokens": 600,
			"usage.input_tokens_details.cache_write_tokens": 100,
			"usage.output_tokens":                           50, "usage.output_tokens_details.reasoning_tokens": 20,
			"usage.total_tokens": 1050},
		someUsage},
	{geminiDialect, "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"go"}]}]`, "",
		map[string]float64{"usageMetadata.promptTokenCount": 1000, "usageMetadata.cachedContentTokenCount": 600,
			"usageMetadata.candidatesTokenCount": 30, "usageMetadata.thoughtsTokenCount": 20,
			"usageMetadata.totalTokenCount": 1050}, Usage{Input: 1000, Cached: 600, Output: 50, Reasoning: 20}},
}

func TestEachDialectReportsTheUsageOfTheScript(t *testing.T) {
	t.Parallel()
	for _, tt := range reportedAs {
		t.Run(tt.dialect, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{Script: Script{Rules: []Rule{{Reply: []Step{{Text: "some words"}, {Usage: &someUsage}}}}}})
			_, whole := ask(t, s.URL()+tt.path, tt.body+"}")
			var doc any
			if err := json.Unmarshal([]byte(whole), &doc); err != nil {
				t.Fatal(err)
			}
			path, body := strings.Replace(tt.path, ":generate", ":streamGenerate", 1), tt.body+`,"stream":true}`
			path = strings.Replace(path, "streamGenerateContent", "streamGenerateContent?alt=sse", 1)
			_, stream := ask(t, s.URL()+path, body)
			var last any
			for _, e := range eventsOf(t, stream) {
				for _, root := range []any{at(e.data, "response"), e.data} {
					if at(root, "usage") != nil || at(root, "usageMetadata") != nil {
						last = e.data
					}
				}
			}
			for where, want := range tt.want {
				if got := at(doc, keys(where)...); got != want {
					t.Errorf("the document says %s = %v, want %v: %s", where, got, want, whole)
				}
				if got := at(last, keys(tt.streamed+where)...); got != want {
					t.Errorf("the stream's last usage says %s = %v, want %v: %s", where, got, want, stream)
				}
			}
			for _, q := range s.Record() {
				if q.Usage != tt.record {
					t.Errorf("the record says %+v, want %+v", q.Usage, tt.record)
				}
			}
		})
	}
}

func keys(path string) (out []any) {
	for key := range strings.SplitSeq(path, ".") {
		out = append(out, key)
	}
	return out
}

// In Anthropic's dialect, the first event must report the tokens of the request. The tokens of the reply are
// not known yet.
func TestTheFirstAnthropicEventReportsTheRequest(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: Script{Rules: []Rule{{Reply: []Step{{Text: "words"}, {Usage: &someUsage}}}}}})
	_, body := ask(t, s.URL()+"/v1/messages", strings.Replace(message("go"), "{", `{"stream":true,`, 1))
	first := at(eventsOf(t, body)[0].data, "message", "usage")
	if at(first, "input_tokens") != 300.0 || at(first, "cache_read_input_tokens") != 600.0 ||
		at(first, "cache_creation_input_tokens") != 100.0 || at(first, "output_tokens") != 1.0 {
		t.Errorf("the first event reports %v", first)
	}
}

func TestWithoutAScriptTheUsageIsAnEstimate(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	ask(t, s.URL()+"/v1/messages", message("say one two three"))
	want := Usage{Input: len(message("say one two three"))/4 + 1, Output: len("one two three")/4 + 1}
	if got := s.Record()[0].Usage; got != want {
		t.Errorf("the usage is %+v, want %+v", got, want)
	}
	if text := mustJSON(s.Record()[0]); !strings.Contains(text, `"input_tokens":`) {
		t.Errorf("the record is %s", text)
	}
}
