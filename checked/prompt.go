package checked

import (
	"encoding/json"
	"fmt"
	"strings"

	"coleo.dev"
)

// Accept checks the schemas and the input of a prompt, before Coleo types anything. If there is an
// input schema, Accept also returns the result of checking the input. It returns EInvalid for every
// fault, including an input that does not fit its schema.
func Accept(c coleo.Check) (input coleo.Validated, err error) {
	switch {
	case c.Retries < 0 || c.Retries > coleo.MaxRetries:
		return input, coleo.Errorf(coleo.EInvalid, "the number of retries is %d, and must be from 0 to %d: nothing was typed",
			c.Retries, coleo.MaxRetries)
	case len(c.Input) > coleo.MaxInput:
		return input, coleo.Errorf(coleo.EInvalid, "the input has %d bytes, more than %d: nothing was typed", len(c.Input),
			coleo.MaxInput)
	case len(c.Input) == 0 && len(c.InputSchema) > 0:
		return input, coleo.Errorf(coleo.EInvalid, "there is an input schema and no input: nothing was typed")
	case len(c.Input) > 0 && !json.Valid(c.Input):
		return input, coleo.Errorf(coleo.EInvalid, "the input is not JSON: nothing was typed")
	}
	if len(c.Schema) > 0 {
		if _, err := Compile("schema", c.Schema); err != nil {
			return input, notSent(err)
		}
	}
	if len(c.InputSchema) == 0 {
		return input, nil
	}
	schema, err := Compile("input schema", c.InputSchema)
	if err != nil {
		return input, notSent(err)
	}
	if input = schema.Validate(c.Input); !input.OK {
		return input, coleo.Errorf(coleo.EInvalid, "the input does not fit its schema, %s: nothing was typed", input.Line())
	}
	return input, nil
}

func notSent(err error) error { return coleo.Errorf(coleo.EInvalid, "%w: nothing was typed", err) }

// Coleo adds these texts to the caller's text.
const (
	beforeInput  = "\n\nThe input, as JSON: "
	beforeSchema = "\n\nAnswer with JSON alone. It must fit this JSON Schema: "
)

// Text returns the text that Coleo types: the caller's prompt, the input and the schema of the
// answer. The check can be nil.
func Text(prompt string, c *coleo.Check) string {
	if c == nil {
		return prompt
	}
	if len(c.Input) > 0 {
		prompt += beforeInput + asText(c.Input)
	}
	if len(c.Schema) > 0 {
		prompt += beforeSchema + asText(c.Schema)
	}
	return prompt
}

// asText returns JSON as a part of a prompt. It writes each @ as a JSON escape, because some agent
// CLIs take a word with @ for the name of a file.
func asText(raw json.RawMessage) string { return withoutAt(Plain(raw)) }

func withoutAt(text string) string { return strings.ReplaceAll(text, "@", `\u0040`) }

// Plain returns JSON on one line, without white space between its parts. It writes <, > and & as
// themselves, although package encoding/json writes them as escapes.
func Plain(raw json.RawMessage) string {
	text := string(raw)
	if out, err := compactJSON(text); err == nil {
		text = string(out)
	}
	var b strings.Builder
	for len(text) > 0 {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+2 > len(text) {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		n := 2 // the length of \n and similar escapes
		if char, ok := html[text[:min(len(text), 6)]]; ok {
			b.WriteString(char)
			n = 6
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String() + text
}

// html maps each escape that package encoding/json writes for a character to this character.
var html = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}

// quotedPrompt is how many characters of a prompt a retry quotes. They are enough for the model to
// recognize the prompt.
const quotedPrompt = 80

// RetryPrompt returns the check and the text of the prompt that asks a model again. `fault` says why the
// answer of the given run does not fit. The run must have retries left.
func RetryPrompt(run coleo.Receipt, fault coleo.Validated) (coleo.Check, string) {
	next := *run.Check
	next.Input, next.InputSchema = nil, nil
	next.Retries--
	next.Attempt++
	next.RetryOf, next.SpecHash = run.ID, run.SpecHash
	if next.Asked == "" {
		text, _, _ := strings.Cut(run.Text, beforeSchema)
		text, _, _ = strings.Cut(text, beforeInput)
		next.Asked = shorten(strings.Join(strings.Fields(text), " "), quotedPrompt)
	}
	return next, withoutAt(fmt.Sprintf("Your last answer cannot be used: %s. It was the answer to %q. Answer that again.",
		strings.TrimSuffix(fault.Line(), "."), next.Asked))
}
