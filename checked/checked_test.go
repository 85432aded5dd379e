package checked

import (
	"encoding/json"
	"strings"
	"testing"

	"coleo.dev"
)

// issues is a schema that uses each keyword with which a schema descends into a value, such as items and $ref.
const issues = `{
	"type": "object",
	"required": ["list"],
	"additionalProperties": {"type": "string"},
	"properties": {
		"list": {"type": "array", "items": {"$ref": "#/$defs/issue"}},
		"pair": {"prefixItems": [{"type": "string"}, {"allOf": [{"minimum": 3}]}]}
	},
	"$defs": {"issue": {"type": "object", "required": ["file"], "properties": {
		"file": {"type": "string"}, "line": {"type": "integer"}, "under": {"$ref": "#/$defs/issue"}
	}}}
}`

func TestR9AnAnswerFitsOrSaysWhereItDoesNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, answer string
		want         string // the JSON; "" if the answer does not fit
		path, fault  string // the whole path, and a part of the error
	}{
		{"bare JSON fits", " {\"list\": []}\n", `{"list":[]}`, "", ""},
		{"JSON in one fenced block fits, with words around it", "Here:\n```json\n{\"list\": [{\"file\": \"a\"}]}\n```\nDone.",
			`{"list":[{"file":"a"}]}`, "", ""},
		{"a block without a language fits", "```\n{\"list\":[]}\n```", `{"list":[]}`, "", ""},
		{"a fence inside a text of the JSON is no block", "{\"list\":[],\"x\":\"```\"}", "{\"list\":[],\"x\":\"```\"}",
			"", ""},
		{"a large number stays as it is", `{"list":[{"file":"a","line":12345678901234567890}]}`,
			`{"list":[{"file":"a","line":12345678901234567890}]}`, "", ""},
		{"no text", "  \n", "", "", "has no text"},
		{"words are not JSON", "I found nothing.", "", "", "is not JSON"},
		{"JSON between words has no block", `It is {"list":[]}.`, "", "", "no fenced block"},
		{"two blocks are one too many", "```\n1\n```\n```\n2\n```", "", "", "2 fenced blocks"},
		{"a block that is cut off", "```json\n{\"list\":[\n```", "", "", "fenced block of the answer is not JSON"},
		{"two values", "1 2", "", "", "is not JSON"},
		{"another type", `[]`, "", "", `want "object"`},
		{"a key is missing", `{}`, "", "", "list"},
		{"a place in a list", `{"list":[{"file":"a"},{"file":2}]}`, "", "/list/*/file", `want "string"`},
		{"a place that a schema reaches by itself", `{"list":[{"file":"a","under":{"file":1}}]}`, "",
			"/list/*/under/file", ""},
		{"an unknown key", `{"list":[],"more":1}`, "", "/*", `want "string"`},
		{"an element of a pair", `{"list":[],"pair":["a",1]}`, "", "/pair/1", "minimum"},
		{"a value that is too deep", strings.Repeat("[", 101) + strings.Repeat("]", 101), "", "", "inside one another"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, retry := Answer(coleo.Check{Schema: json.RawMessage(issues)}, coleo.RunEnd{Answer: c.answer, Whole: true})
			if got.OK != (c.want != "") || string(got.Answer) != c.want || got.Path != c.path || !retry ||
				!strings.Contains(got.Error, c.fault) || strings.Contains(got.Error, "\n") {
				t.Errorf("Answer(%q) = %+v, retry %v; want %q, path %q, fault %q", c.answer, got, retry, c.want, c.path, c.fault)
			}
		})
	}
}

func TestR9AnAnswerThatIsNotWholeIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	got, retry := Answer(coleo.Check{Schema: json.RawMessage(`true`)}, coleo.RunEnd{Answer: "1"})
	if got.OK || retry || !strings.Contains(got.Error, "screen") {
		t.Errorf("an answer from the screen: %+v, retry %v", got, retry)
	}
	large := `"` + strings.Repeat("x", coleo.MaxCheckedAnswer) + `"`
	if got, _ := Answer(coleo.Check{Schema: json.RawMessage(`true`)}, coleo.RunEnd{Answer: large, Whole: true}); got.OK {
		t.Error("an answer that is larger than an event is accepted")
	}
}

func TestR9WrongSchemasAndInputsAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	const number = `{"type":"number"}`
	for _, c := range []struct {
		name  string
		check coleo.Check
		want  string // a part of the error; "" if there must be none
	}{
		{"a schema", coleo.Check{Schema: json.RawMessage(issues), Retries: 5}, ""},
		{"a schema that refers to itself in steps", coleo.Check{Schema: json.RawMessage(
			`{"properties":{"a":{"$ref":"#"}}}`)}, ""},
		{"draft 7", coleo.Check{Schema: json.RawMessage(
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"null"}`)}, ""},
		{"a property called $ref", coleo.Check{Schema: json.RawMessage(`{"properties":{"$ref":{"type":"null"}}}`)}, ""},
		{"an input without a schema", coleo.Check{Input: json.RawMessage(`[1]`)}, ""},
		{"an input that fits", coleo.Check{Input: json.RawMessage(`1.5`), InputSchema: json.RawMessage(number)}, ""},

		{"too many retries", coleo.Check{Retries: 6}, "from 0 to 5"},
		{"fewer than no retries", coleo.Check{Retries: -1}, "from 0 to 5"},
		{"no JSON", coleo.Check{Schema: json.RawMessage(`{`)}, "is not JSON"},
		{"no schema", coleo.Check{Schema: json.RawMessage(`"string"`)}, "is an object"},
		{"null", coleo.Check{Schema: json.RawMessage(`null`)}, "is an object"},
		{"an unknown type", coleo.Check{Schema: json.RawMessage(`{"type":3}`)}, "is not a JSON Schema"},
		{"a bad pattern", coleo.Check{Schema: json.RawMessage(`{"pattern":"("}`)}, "is not a JSON Schema"},
		{"a schema from elsewhere", coleo.Check{Schema: json.RawMessage(`{"$ref":"https://example.org/s"}`)},
			"does not point into"},
		{"a file", coleo.Check{Schema: json.RawMessage(`{"$ref":"other.json#/a"}`)}, "does not point into"},
		{"a missing definition", coleo.Check{Schema: json.RawMessage(`{"$ref":"#/$defs/a"}`)}, "is not a JSON Schema"},
		{"an unknown draft", coleo.Check{Schema: json.RawMessage(
			`{"$schema":"http://json-schema.org/draft-04/schema#"}`)}, "only draft 2020-12"},
		{"a circle", coleo.Check{Schema: json.RawMessage(`{"$ref":"#"}`)}, "leads back to itself"},
		{"a long circle", coleo.Check{Schema: json.RawMessage(
			`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[true,{"$ref":"#/$defs/y~1z"}]},` +
				`"y/z":{"if":{"$ref":"#/$defs/x"}}}}`)}, "leads back to itself"},
		{"a dynamic reference", coleo.Check{Schema: json.RawMessage(`{"$dynamicRef":"#a"}`)}, "not supported"},
		{"a large schema", coleo.Check{Schema: json.RawMessage(`{"title":"` + strings.Repeat("x", coleo.MaxSchema) + `"}`)},
			"bytes"},
		{"an input schema without an input", coleo.Check{InputSchema: json.RawMessage(number)}, "no input"},
		{"an input that is no JSON", coleo.Check{Input: json.RawMessage(`{`)}, "not JSON"},
		{"an input that does not fit", coleo.Check{Input: json.RawMessage(`{"a":"b"}`), InputSchema: json.RawMessage(
			`{"properties":{"a":{"type":"number"}}}`)}, "does not fit its schema, at /a: type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			input, err := Accept(c.check)
			if (err == nil) != (c.want == "") || input.OK != (c.want == "" && len(c.check.InputSchema) > 0) {
				t.Fatalf("Accept = %+v, %v; want %q", input, err, c.want)
			}
			if err != nil && (coleo.ErrorCode(err) != coleo.EInvalid || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": nothing was typed")) {
				t.Errorf("Accept: %v (%s), want %s with %q", err, coleo.ErrorCode(err), coleo.EInvalid, c.want)
			}
		})
	}
}

func TestR9TheModelIsToldTheSchemaAndTheFault(t *testing.T) {
	t.Parallel()
	c := &coleo.Check{Schema: json.RawMessage(`{ "type": "number" }`), Input: json.RawMessage("[1,\n2]"), Retries: 2,
		InputSchema: json.RawMessage("true")}
	first := Text("Add them.", c)
	if first != "Add them.\n\nThe input, as JSON: [1,2]\n\n"+
		`Answer with JSON alone. It must fit this JSON Schema: {"type":"number"}` {
		t.Errorf("Text = %q", first)
	}
	if got := Text("Hello.", nil); got != "Hello." {
		t.Errorf("Text without a check = %q", got)
	}
	run := coleo.Receipt{ID: "R1", Text: first, Check: c, SpecHash: "h"}
	second, text := RetryPrompt(run, coleo.Validated{Path: "/a", Error: "it is wrong."})
	if second.Retries != 1 || second.Attempt != 1 || second.RetryOf != "R1" || second.SpecHash != "h" ||
		second.Input != nil || second.InputSchema != nil || string(second.Schema) != string(c.Schema) || c.Retries != 2 {
		t.Errorf("the check of the retry is %+v", second)
	}
	if !strings.HasPrefix(text, "Your last answer cannot be used: at /a: it is wrong. It was the answer to \"Add "+
		"them.\".") ||
		strings.Contains(text, "\n") || len(text) > 300 {
		t.Errorf("the retry says %q", text)
	}
	third, again := RetryPrompt(coleo.Receipt{ID: "R2", Text: text, Check: &second}, coleo.Validated{Error: "no"})
	if third.RetryOf != "R2" || third.Attempt != 2 || !strings.Contains(again, `to "Add them.`) {
		t.Errorf("the second retry is %+v: %q", third, again)
	}
}

func TestR9NoPartOfAPromptIsTheNameOfAFile(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(json.RawMessage("{\"pattern\": \"^a&<b>@c\\\\u0026\\n$\"}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := Plain(raw); got != `{"pattern":"^a&<b>@c\\u0026\n$"}` {
		t.Errorf("Plain(%s) = %s", raw, got)
	}
	c := &coleo.Check{Schema: raw, Input: json.RawMessage(`"@x"`), Retries: 1}
	text := Text("See this.", c)
	_, again := RetryPrompt(coleo.Receipt{Text: "Read @notes.txt.", Check: c}, coleo.Validated{Error: `"a@b" is wrong`})
	if strings.Contains(text+again, "@") || !strings.Contains(text, `a&<b>\u0040c`) {
		t.Errorf("the prompts are %q and %q", text, again)
	}
}

func TestR9TheSpecHashIsOfTheCanonicalJSON(t *testing.T) {
	t.Parallel()
	spec := Spec{Harness: "codex", Model: "p/m", Args: []string{"-x"}, Mode: "ask", Asked: &Asked{Prompt: "a < b",
		Schema: json.RawMessage(`{"type":"number","minimum":1.0}`)}}
	// The command that computes this hash (without the line break in its argument) is: printf '%s'
	// '{"args":["-x"],"asked":{"prompt":"a < b","schema":{"minimum":1.0,"type":"number"}},
	// "harness":"codex","mode":"ask","model":"p/m"}' | sha256sum
	const want = "22b2ad52e7bc1610b9a8e01b1251d412971f3b6d329d1b57c65b2fe398f3273c"
	if got := Hash(spec); got != want {
		t.Errorf("Hash = %s, want %s", got, want)
	}
	other := spec
	other.Asked = &Asked{Prompt: "a < b", Schema: json.RawMessage(" {\"minimum\":1.0,\n\"type\":\"number\"}")}
	if Hash(other) != want {
		t.Error("spaces and the order of keys change the hash")
	}
	seen := map[string]bool{want: true}
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Harness = "x" }, func(s *Spec) { s.Model = "x" }, func(s *Spec) { s.Args = nil },
		func(s *Spec) { s.Mode = "x" }, func(s *Spec) { s.Asked = nil },
		func(s *Spec) { s.Asked = &Asked{Prompt: "x", Schema: spec.Asked.Schema} },
		func(s *Spec) { s.Asked = &Asked{Prompt: "a < b", InputSchema: spec.Asked.Schema} },
	} {
		s := spec
		change(&s)
		if got := Hash(s); seen[got] || len(got) != 64 {
			t.Errorf("%+v has the hash %q, which another spec has too, or which is none", s, got)
		} else {
			seen[got] = true
		}
	}
}
