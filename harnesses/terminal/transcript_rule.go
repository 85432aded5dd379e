package terminal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
)

// Transcript describes the file of JSON lines in which an agent CLI keeps a conversation.
// Answers in it are complete. A key names a value inside an entry by the keys on the way
// to it, joined with dots. Lists on the way are searched element by element.
type Transcript struct {
	File    string `toml:"file"`    // glob below HOME; {id} stands for the conversation
	Prompt  string `toml:"prompt"`  // key=value of an entry of the user's; the answer is after the last one
	Answer  string `toml:"answer"`  // key=value of an entry of the model's; the last one with text counts
	Text    string `toml:"text"`    // key of the entry's text
	Without string `toml:"without"` // key beside the text; where it is true the text is left out: thoughts
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

// answer returns the model's last text after a prompt, if that prompt is the last one.
// The text is empty while the transcript does not hold it.
func (t *Transcript) answer(f Facts, r coleo.Receipt) (coleo.Answer, error) {
	path, err := t.find(f)
	if err != nil || path == "" {
		return coleo.Answer{}, err
	}
	if info, err := os.Stat(path); err != nil || info.ModTime().Before(r.Time) {
		return coleo.Answer{}, nil // nothing of this turn
	}
	last, mine := "", false
	err = EachEntry(path, func(e any) {
		text := strings.Join(t.texts(e, strings.Split(t.Text, ".")), "")
		switch {
		case strings.TrimSpace(text) == "":
		case holdsPair(e, t.Prompt):
			last, mine = "", strings.Contains(squeeze(text), firstRunes(squeeze(r.Text), tailRunes))
		case holdsPair(e, t.Answer):
			last = text
		}
	})
	if !mine {
		last = ""
	}
	return coleo.Answer{Text: strings.Trim(last, "\n "), Source: "transcript"}, err
}

// find returns the path of the conversation's transcript: the last by name if there are
// several, "" if there is none.
func (t *Transcript) find(f Facts) (string, error) {
	if f.Conversation == "" && strings.Contains(t.File, "{id}") {
		return "", nil
	}
	found, err := filepath.Glob(filepath.Join(f.Home, strings.ReplaceAll(t.File, "{id}", f.Conversation)))
	if err != nil {
		return "", fmt.Errorf("find transcript: %w", err)
	}
	return slices.Max(append(found, "")), nil
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
