package modelserver

import (
	"encoding/json"
	"strings"
	"testing"
)

const geminiStreamPath = "/v1beta/models/m-1:streamGenerateContent?alt=sse"

func geminiBody(prompt string) string {
	return `{"contents":[{"role":"user","parts":[{"text":"<session_context>\nI'm working in the directory: ` +
		`/w/dir\n</session_context>"}]},
{"role":"user","parts":[{"text":` + mustJSON(prompt) + `}]}],"systemInstruction":{"parts":[{"text":"be good"}]},
"tools":[{"functionDeclarations":[{"name":"write_file",` +
		`"parametersJsonSchema":{"properties":{"file_path":{"type":"string"},"content":{"type":"string"}}}}]}]}`
}

func TestGeminiTurn(t *testing.T) {
	t.Parallel()
	got, err := gemini{}.decode([]byte(geminiBody("hi\n")))
	if err != nil {
		t.Fatal(err)
	}
	got = gemini{}.addressed(got, httpPath(geminiStreamPath))
	if got.Prompt != "hi\n" || got.Folder != "/w/dir" || got.System != "be good" || len(got.Tools) != 1 ||
		got.Model != "m-1" || !got.Stream {
		t.Errorf("turn = %+v", got)
	}
	form := `{"contents":[{"role":"user","parts":[{"text":"which?"}]}],"generationConfig":{` +
		`"responseMimeType":"application/json","responseJsonSchema":{"type":"object",` +
		`"required":["choice"],"properties":{"choice":{"type":"string","enum":["flash"]}}}}}`
	if turn, err := (gemini{}).decode([]byte(form)); err != nil || turn.Side != SideForm ||
		replyToSideRequest(turn).Steps[0].Text != `{"choice":"flash"}` {
		t.Errorf("turn = %+v, %v", turn, err)
	}
	answered := `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[]},{"role":"user",` +
		`"parts":[{"functionResponse":{"response":{"output":"done"}}}]}]}`
	if turn, err := (gemini{}).decode([]byte(answered)); err != nil || !turn.HasToolResult ||
		!strings.Contains(turn.ToolResult, "done") || turn.Prompt != "hi" {
		t.Errorf("turn = %+v, %v", turn, err)
	}
}

func TestGeminiStream(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Script: everything})
	_, body := ask(t, s.URL()+geminiStreamPath, geminiBody("go"))
	var text, thought string
	var calls, finish int
	var tokens any
	for _, e := range eventsOf(t, body) {
		part := at(e.data, "candidates", 0, "content", "parts", 0)
		switch {
		case at(part, "functionCall") != nil:
			calls++
		case at(part, "thought") == true:
			thought += str(at(part, "text"))
		default:
			text += str(at(part, "text"))
		}
		if at(e.data, "candidates", 0, "finishReason") == "STOP" {
			finish++
			tokens = at(e.data, "usageMetadata", "totalTokenCount")
		}
	}
	if text != "I will do it." || thought != "hm hm" || calls != 2 || finish != 1 || tokens == nil {
		t.Errorf("stream says %q, thinks %q, calls %d, finishes %d, tokens %v", text, thought, calls, finish, tokens)
	}
}

func TestGeminiWholeAndFailure(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	url := s.URL() + "/v1beta/models/m-1:generateContent"
	_, body := ask(t, url, geminiBody("write a.txt with one"))
	var got any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if call := at(got, "candidates", 0, "content", "parts", 1, "functionCall"); at(call, "name") != "write_file" ||
		at(call, "args", "file_path") != "/w/dir/a.txt" || at(call, "args", "content") != "one\n" {
		t.Errorf("document = %s", body)
	}
	if status, body := ask(t, url, geminiBody("fail 401")); status != 401 ||
		!strings.Contains(body, "UNAUTHENTICATED") {
		t.Errorf("answer = %d %s", status, body)
	}
	if status, body := ask(t, s.URL()+"/v1beta/models/m-1:countTokens", geminiBody("x")); status != 200 ||
		!strings.Contains(body, "totalTokens") {
		t.Errorf("count = %d %s", status, body)
	}
}
