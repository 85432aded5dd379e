package rules

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Transcript describes the file of JSON lines in which an agent CLI keeps a conversation. Answers
// in this file are complete. To name a nested value, join all keys on the path to it with dots. If
// a value on the path is a list, Coleo searches each of its elements.
type Transcript struct {
	// The path of the file below HOME. The path can contain `*`. `{id}` stands for the
	// id of the conversation: `.mine/chats/{id}.jsonl`.
	File string `toml:"file"`
	// The sign of an entry of the user, as KEY=VALUE: `type=user`. The answer comes after the last
	// entry of the user.
	Prompt string `toml:"prompt"`
	// The sign of an entry of the model, as KEY=VALUE: `type=assistant`. The answer is the text of
	// the last such entry with a text.
	Answer string `toml:"answer"`
	// The key of the text in the user's entries and in the model's entries:
	// `message.content.text`.
	Text string `toml:"text"`
	// A key in the same object as the text, such as `thought`. If the value of that key is true,
	// Coleo leaves the text out.
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

// Search searches the entries of a transcript for the answer to a prompt.
type Search struct {
	rule   *Transcript
	prompt string // the beginning of the prompt, which the user's entry must contain
	last   string // the model's last text after the last prompt
	mine   bool   // true if the last prompt is the one whose answer is wanted
}

// Search returns a search for the answer to the given prompt.
func (t *Transcript) Search(prompt string) *Search {
	return &Search{rule: t, prompt: firstRunes(squeeze(prompt), tailRunes)}
}

// Take adds the next entry, a decoded JSON value, to the search.
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

// Answer returns the model's last text after the prompt. It returns "" if there is no such text
// yet, or if a later prompt has followed.
func (s *Search) Answer() string {
	if !s.mine {
		return ""
	}
	return strings.Trim(s.last, "\n ")
}

// texts returns the strings at the end of a path in an entry, without those that t.Without excludes.
// The parameter `keys` contains the keys of the path.
func (t *Transcript) texts(v any, keys []string) []string {
	var out []string
	walk(v, keys, func(beside map[string]any, value any) {
		if text, ok := value.(string); ok && beside[t.Without] != true {
			out = append(out, text)
		}
	})
	return out
}

// holdsPair reports whether an entry has the key and the value of a pair in the form key=value.
func holdsPair(v any, pair string) bool {
	key, want, _ := strings.Cut(pair, "=")
	found := false
	walk(v, strings.Split(key, "."), func(_ map[string]any, value any) {
		text, ok := value.(string)
		if !ok {
			raw, _ := json.Marshal(value) // cannot fail: the value was decoded from JSON
			text = string(raw)
		}
		found = found || text == want
	})
	return found
}

// walk follows a path of keys through a JSON value. The path has several ends if it leads through a
// list. At each end, walk calls the function `take` with the object that has the last key, and with the
// value of that key.
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
