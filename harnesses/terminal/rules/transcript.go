package rules

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Transcript describes the file of JSON lines in which an agent CLI keeps a conversation.
// Answers in it are complete. A key names a value inside an entry by the keys on the way
// to it, joined with dots. Lists on the way are searched element by element.
type Transcript struct {
	// The path of the file below HOME. It may have `*`, and `{id}` stands for the id of the
	// conversation: `.mine/chats/{id}.jsonl`.
	File string `toml:"file"`
	// How an entry of the user is recognised, as KEY=VALUE: `type=user`. The answer comes
	// after the last such entry.
	Prompt string `toml:"prompt"`
	// How an entry of the model is recognised, as KEY=VALUE: `type=assistant`. The last
	// one with text is the answer.
	Answer string `toml:"answer"`
	// The key of the text in both kinds of entries: `message.content.text`.
	Text string `toml:"text"`
	// A key beside the text. If it is true, the text is left out: `thought`.
	Without string `toml:"without"`
}

func (c *compiler) transcript(t *Transcript) {
	if *t == (Transcript{}) {
		return
	}
	if _, err := filepath.Match(t.File, ""); err != nil || t.File == "" || filepath.IsAbs(t.File) {
		c.fail("transcript.file", "transcript.file must be a pattern of a path below HOME, not %q", t.File)
	}
	for key, value := range map[string]string{"transcript.prompt": t.Prompt, "transcript.answer": t.Answer} {
		if !strings.Contains(value, "=") {
			c.fail(key, "%s must be key=value, not %q", key, value)
		}
	}
	c.required("transcript.text", t.Text)
}

// Search looks through the entries of a transcript for the answer to a prompt.
type Search struct {
	rule   *Transcript
	prompt string // the beginning that the prompt's entry must hold
	last   string // the model's last text after the last prompt
	mine   bool   // that prompt is the one that is looked for
}

// Search begins a search for the answer to a prompt.
func (t *Transcript) Search(prompt string) *Search {
	return &Search{rule: t, prompt: firstRunes(squeeze(prompt), tailRunes)}
}

// Take looks at the next entry, a value that was decoded from JSON.
func (s *Search) Take(entry any) {
	t := s.rule
	text := strings.Join(t.texts(entry, strings.Split(t.Text, ".")), "")
	switch {
	case strings.TrimSpace(text) == "":
	case holdsPair(entry, t.Prompt):
		s.last, s.mine = "", strings.Contains(squeeze(text), s.prompt)
	case holdsPair(entry, t.Answer):
		s.last = text
	}
}

// Answer returns the model's last text after the prompt, if that prompt is the last one
// so far. It returns "" while the entries do not hold it.
func (s *Search) Answer() string {
	if !s.mine {
		return ""
	}
	return strings.Trim(s.last, "\n ")
}

// texts returns the strings at a key of an entry.
func (t *Transcript) texts(v any, keys []string) []string {
	var out []string
	walk(v, keys, func(beside map[string]any, value any) {
		if text, ok := value.(string); ok && beside[t.Without] != true {
			out = append(out, text)
		}
	})
	return out
}

// holdsPair reports whether an entry has a value at a key. pair is key=value.
func holdsPair(v any, pair string) bool {
	key, want, _ := strings.Cut(pair, "=")
	found := false
	walk(v, strings.Split(key, "."), func(_ map[string]any, value any) {
		text, ok := value.(string)
		if !ok {
			raw, _ := json.Marshal(value) // it came out of JSON
			text = string(raw)
		}
		found = found || text == want
	})
	return found
}

// walk calls take with each value at a key, and with the object that holds it.
func walk(v any, keys []string, take func(beside map[string]any, value any)) {
	switch x := v.(type) {
	case []any:
		for _, each := range x {
			walk(each, keys, take)
		}
	case map[string]any:
		value, ok := x[keys[0]]
		switch {
		case !ok:
		case len(keys) == 1:
			take(x, value)
		default:
			walk(value, keys[1:], take)
		}
	}
}
