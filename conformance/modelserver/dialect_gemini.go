package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// gemini is the Gemini API: generateContent and streamGenerateContent.
type gemini struct{}

func (gemini) name() string { return geminiDialect }

var geminiPath = regexp.MustCompile(`^/v1(?:beta)?/models/([^/:]+):(generateContent|streamGenerateContent)$`)

func (gemini) serves(path string) bool { return geminiPath.MatchString(path) }

var geminiCount = regexp.MustCompile(`^/v1(?:beta)?/models/[^/:]+:countTokens$`)

func (gemini) fixedReply(method, path string, body []byte) any {
	if method == http.MethodPost && geminiCount.MatchString(path) {
		return fields{"totalTokens": len(body)/4 + 1}
	}
	return nil
}

// addressed reads two values from the path, because the body of the request does not contain them:
// the model, and whether to stream the reply.
func (gemini) addressed(t Turn, path string) Turn {
	if m := geminiPath.FindStringSubmatch(path); m != nil {
		t.Model, t.Stream = m[1], m[2] == "streamGenerateContent"
	}
	return t
}

type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction geminiContent   `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
			JSONSchema schema `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		MaxOutputTokens  int    `json:"maxOutputTokens"`
		ResponseMimeType string `json:"responseMimeType"`
		ResponseSchema   schema `json:"responseSchema"`
		JSONSchema       schema `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             string `json:"text"`
	FunctionResponse *struct {
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// UnmarshalJSON reads a content that is a string or an object with parts.
func (c *geminiContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		c.Parts = []geminiPart{{}}
		return json.Unmarshal(data, &c.Parts[0].Text)
	}
	type plain geminiContent
	return json.Unmarshal(data, (*plain)(c))
}

func (gemini) decode(body []byte) (Turn, error) {
	var q geminiRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return Turn{}, fmt.Errorf("decode %s request: %w", geminiDialect, err)
	}
	if len(q.Contents) == 0 {
		return Turn{}, errors.New("contents: at least one is required")
	}
	r := turnReader{turn: Turn{Dialect: geminiDialect, maxTokens: q.GenerationConfig.MaxOutputTokens, size: len(body)}}
	for _, p := range q.SystemInstruction.Parts {
		r.system(p.Text)
	}
	for _, group := range q.Tools {
		for _, f := range group.FunctionDeclarations {
			s := f.JSONSchema
			if s.Properties == nil {
				s = f.Parameters
			}
			r.turn.Tools = append(r.turn.Tools, Tool{Name: f.Name, schema: s})
		}
	}
	for _, c := range q.Contents {
		c.read(&r)
	}
	t := r.finish()
	if g := q.GenerationConfig; g.ResponseMimeType == "application/json" && t.Side == "" {
		t.Side, t.form = SideForm, g.JSONSchema
		if t.form.Properties == nil {
			t.form = g.ResponseSchema
		}
	}
	return t, nil
}

func (c geminiContent) read(r *turnReader) {
	if c.Role == "model" {
		return
	}
	r.beginMessage()
	for _, p := range c.Parts {
		switch {
		case p.FunctionResponse != nil:
			r.result(string(p.FunctionResponse.Response))
		case strings.TrimSpace(p.Text) != "":
			r.user(p.Text)
		}
	}
}

func (gemini) failure(f Failure) any {
	status := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED"}[f.Status]
	if status == "" {
		status = "INTERNAL"
	}
	return fields{"error": fields{"code": f.Status, "message": f.Message, "status": status}}
}

// reported omits Written, for which the API has no field.
func (gemini) reported(u Usage) Usage {
	u.Written = 0
	return u
}

// geminiUsage returns a usage in the format of the API, in which candidatesTokenCount does not
// include the thoughts.
func geminiUsage(u Usage) fields {
	out := fields{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning,
		"totalTokenCount": u.Input + u.Output}
	if u.Cached > 0 {
		out["cachedContentTokenCount"] = u.Cached
	}
	if u.Reasoning > 0 {
		out["thoughtsTokenCount"] = u.Reasoning
	}
	return out
}

// geminiChunk returns a document that is a whole reply or a piece of a stream. `finishReason` says why the
// reply ended. It is "" in all pieces except the last.
func geminiChunk(t Turn, id string, parts []fields, finishReason string) fields {
	c := fields{"content": fields{"role": "model", "parts": parts}, "index": 0}
	if finishReason != "" {
		c["finishReason"] = finishReason
	}
	return fields{"candidates": []fields{c}, "modelVersion": t.Model, "responseId": id}
}

// geminiCall returns a tool call as a part of a reply. In this dialect, the arguments must be a
// JSON object. If they are not JSON, the object has a single field "raw" with the text of the
// arguments.
func geminiCall(c toolCall) fields {
	args := json.RawMessage(c.args)
	if !json.Valid(args) {
		args = json.RawMessage(mustJSON(fields{"raw": c.args}))
	}
	return fields{"functionCall": fields{"id": c.id, "name": c.name, "args": args}}
}

func (gemini) whole(t Turn, c collected, u Usage) any {
	var parts []fields
	if c.thinking != "" {
		parts = append(parts, fields{"text": c.thinking, "thought": true})
	}
	if c.text != "" || len(c.calls) == 0 {
		parts = append(parts, fields{"text": c.text})
	}
	for _, call := range c.calls {
		parts = append(parts, geminiCall(call))
	}
	doc := geminiChunk(t, newID("g_"), parts, "STOP")
	doc["usageMetadata"] = geminiUsage(u)
	return doc
}

// geminiStream sends a reply as events without names. The data of each event is a complete
// document.
type geminiStream struct {
	out   *httpWriter
	turn  Turn
	id    string
	usage Usage // the tokens of the request, which each piece but the last one reports
	begun bool
}

func (gemini) stream(o *httpWriter, t Turn, u Usage) encoder {
	u.Output, u.Reasoning = 0, 0
	return &geminiStream{out: o, turn: t, id: newID("g_"), usage: u}
}

func (s *geminiStream) part(p fields) {
	s.begun = true
	doc := geminiChunk(s.turn, s.id, []fields{p}, "")
	doc["usageMetadata"] = geminiUsage(s.usage)
	s.out.event("", doc)
}

func (s *geminiStream) text(text string)     { s.part(fields{"text": text}) }
func (s *geminiStream) thinking(text string) { s.part(fields{"text": text, "thought": true}) }
func (s *geminiStream) call(c toolCall)      { s.part(geminiCall(c)) }

func (s *geminiStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, gemini{}.failure(f))
		return
	}
	s.out.event("", gemini{}.failure(f))
}

func (s *geminiStream) end(u Usage) {
	doc := geminiChunk(s.turn, s.id, []fields{{"text": ""}}, "STOP")
	doc["usageMetadata"] = geminiUsage(u)
	s.out.event("", doc)
}
