package reading

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
	"coleo.dev/printable"
)

// maxSubject is the largest size in bytes of a subject, such as a command, that comes from a hook. Nobody
// reads a longer subject in a dialog. If the hook's subject is longer, Coleo keeps the subject on the
// screen, which is marked as cut off.
const maxSubject = 16 << 10

// completeSubject completes the subject of an approval, such as a command, if the screen shows only a part
// of it. The new subject is the tool's input as the hook reported it. This input must contain the visible
// rows of the old subject. If the inputs of different calls contain them, the subject stays as it is.
func (r *Reader) completeSubject(v *rules.Verdict) {
	if !v.Dialog.Truncated || v.Dialog.Kind != coleo.DialogPermission {
		return
	}
	whole := ""
	for _, c := range r.hook.tools {
		text, values := c.subject()
		isPart := v.SubjectIsPartOf(values)
		switch {
		case c.input == nil && r.isUnknown(c, *v), !isPart && r.isDrawnUnlike(c, *v):
			return // the dialog can be about this call
		case !isPart:
		case len(text) > maxSubject || whole != "" && text != whole:
			return
		default:
			whole = text
		}
	}
	if whole != "" && !r.hook.lost {
		full := *v.Dialog // a copy, because the reading may contain the same pointer
		full.Subject, full.Truncated = whole, false
		v.Dialog = &full
	}
}

// subject describes a call of a tool in two forms. `text` is for people, and contains the name and the
// value of each input. `values` contains only the values, in the same order.
func (c tool) subject() (text, values string) {
	var people, plain strings.Builder
	people.WriteString(oneLine(c.name))
	eachLeaf(c.input, func(name, value string) {
		name, value = oneLine(name), printable.Text(value)
		separator := " "
		if strings.Contains(value, "\n") {
			separator = "\n"
		}
		fmt.Fprintf(&people, "\n%s:%s%s", name, separator, value)
		plain.WriteString(value + "\n")
	})
	return people.String(), plain.String()
}

// eachLeaf goes through a JSON document in order. It calls the function `take` with the name and the value
// of each element, except the elements that are lists or objects.
func eachLeaf(document json.RawMessage, take func(name, value string)) {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	_ = eachLeafBelow(d, "input", take)
}

func eachLeafBelow(d *json.Decoder, name string, take func(name, value string)) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		take(name, fmt.Sprint(token))
		return nil
	}
	for inside := name; d.More(); {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			inside = fmt.Sprint(key)
		}
		if err := eachLeafBelow(d, inside, take); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing token
	return err
}

// AskedTool returns the call that the dialog on the screen asks about, as the hook has reported the
// call. It returns EStale if the dialog is not on the screen. It returns EUnsupported if no
// reported call fits the dialog, or if several different calls fit. It also returns EUnsupported if the
// dialog can be about a call that Coleo does not know.
func (r *Reader) AskedTool(dialog coleo.Fingerprint) (coleo.ToolRequest, error) {
	v := r.verdict
	switch {
	case v.Dialog == nil || v.Dialog.Fingerprint != dialog || r.reading.Dialog == nil ||
		r.reading.Dialog.Fingerprint != dialog:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EStale, "that dialog is no longer on the screen")
	case v.Dialog.Kind != coleo.DialogPermission:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "the dialog does not ask about a tool")
	case len(r.spec.Policy.Tools) == 0:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported,
			"no hook of %s reports the call that the dialog is about", r.spec.Title)
	case r.hook.lost:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported,
			"no call is certain: the hook has reported more calls than Coleo can compare with the dialog")
	case r.DialogDoubtful():
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "the screen may show an answered dialog once more")
	}
	var found []coleo.ToolRequest
	for _, c := range r.hook.tools {
		if r.isUnknown(c, v) {
			return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported,
				"no call is certain: the dialog can be about a call of %s that Coleo cannot read", oneLine(c.name))
		}
		q, err := r.requestOf(c, v)
		if err != nil {
			return coleo.ToolRequest{}, err
		}
		if q == nil && r.isDrawnUnlike(c, v) {
			return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported,
				"no call is certain: a call of %s has a text that can look different in a dialog", oneLine(c.name))
		}
		if q != nil && !slices.ContainsFunc(found, func(f coleo.ToolRequest) bool { return reflect.DeepEqual(f, *q) }) {
			found = append(found, *q)
		}
	}
	switch len(found) {
	case 0:
		return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported,
			"no call that the hook has reported fits what the dialog shows")
	case 1:
		return found[0], nil
	}
	return coleo.ToolRequest{}, coleo.Errorf(coleo.EUnsupported, "%d different calls fit what the dialog shows",
		len(found))
}

// isUnknown reports whether the dialog may be about a call that Coleo cannot compare with the dialog. Coleo
// cannot compare them if the policy does not know the call's tool, or if the hook's report has no room for
// the call's input.
func (r *Reader) isUnknown(c tool, v rules.Verdict) bool {
	if _, isQuiet := r.spec.QuietTools[c.name]; isQuiet {
		return false
	}
	t := r.spec.Policy.Tool(c.name)
	return t == nil || c.input == nil && v.MayAskAbout(t)
}

// isDrawnUnlike reports whether the dialog may be about a call, although the dialog shows the call's inputs
// in another form. For example, Claude Code 2.1.329 draws a letter and a combining accent as one character.
func (r *Reader) isDrawnUnlike(c tool, v rules.Verdict) bool {
	t := r.spec.Policy.Tool(c.name)
	if t == nil || c.input == nil || !v.MayAskAbout(t) {
		return false
	}
	var inputs map[string]any
	if json.Unmarshal(c.input, &inputs) != nil {
		return true
	}
	for name, value := range inputs {
		isShown := slices.Contains(t.Shows, name) || slices.Contains(t.Files, name)
		if text, isText := value.(string); isShown && (!isText || !isDrawnAsItIs(text)) {
			return true
		}
	}
	return false
}

// isDrawnAsItIs reports whether a program draws a text without changing its characters, except for its
// blanks.
func isDrawnAsItIs(text string) bool {
	return !strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool {
		switch {
		case r == '\n', r == '\t', unicode.Is(unicode.Variation_Selector, r):
			return false
		}
		return r == utf8.RuneError || unicode.Is(unicode.M, r) || !printable.IsVisible(r)
	})
}

// noteEnd is called when a report shows that a call of a tool has ended. It forgets the oldest call whose
// input the report repeats. If the policy does not know the tool, noteEnd instead forgets the tool's oldest
// call, so that the policy can decide again. The hook can report a call twice: before the call runs, and
// before the agent CLI asks about it. noteEnd then forgets both reports.
func (r *Reader) noteEnd(name string, l hook.Line) {
	isKnown := r.spec.Policy.Tool(name) != nil
	for _, oldest := range r.hook.tools {
		if oldest.name != name || isKnown && !oldest.isIn(l) {
			continue
		}
		forgotten := map[bool]bool{} // for each value of tool.asks, whether a report was forgotten
		r.hook.tools = slices.DeleteFunc(slices.Clone(r.hook.tools), func(c tool) bool {
			if c.name != name || !bytes.Equal(c.input, oldest.input) || forgotten[c.asks] {
				return false
			}
			forgotten[c.asks] = true
			return true
		})
		return
	}
}

// mayAsk reports whether the last picture shows a dialog, or may hide one because no rule recognizes the
// picture.
func (r *Reader) mayAsk() bool { return r.verdict.Dialog != nil || r.verdict.State == "" }

// forgetTools forgets the calls about which no dialog can open any more: the screen has shown no dialog for
// ToolAsks, and the calls are older than that. A call can wait long for its dialog. The calls of several
// subagents wait for their dialogs one after another, and a call of a subagent in the background can wait
// beyond the end of the turn.
func (r *Reader) forgetTools(at, now time.Time) {
	if r.mayAsk() || now.Sub(r.hook.asking) < ToolAsks {
		return
	}
	isOver := func(c tool) bool { return at.Sub(c.at) >= ToolAsks }
	r.hook.tools, r.hook.lost = slices.DeleteFunc(slices.Clone(r.hook.tools), isOver), false
}

// addTool adds a call to the list of calls. If the list is full and forgetTools makes no room, addTool drops the oldest
// call.
func (r *Reader) addTool(c tool, now time.Time) {
	if len(r.hook.tools) >= maxReports {
		r.forgetTools(c.at, now)
	}
	r.hook.lost = r.hook.lost || len(r.hook.tools) >= maxReports
	r.hook.tools = appendBounded(r.hook.tools, c)
}

// isIn reports whether a report repeats the call's input.
func (c tool) isIn(l hook.Line) bool {
	if c.input == nil {
		return false
	}
	for _, value := range l.Payload {
		if bytes.Equal(value, c.input) {
			return true
		}
	}
	return false
}

// requestOf returns the reported call `c` if the dialog of the verdict asks about it, and nil otherwise.
// The error is EUnsupported if the dialog asks about the call, but Coleo does not understand the whole
// call.
func (r *Reader) requestOf(c tool, v rules.Verdict) (*coleo.ToolRequest, error) {
	p := &r.spec.Policy
	t := p.Tool(c.name)
	var inputs map[string]any
	if t == nil || json.Unmarshal(c.input, &inputs) != nil {
		return nil, nil
	}
	if newest := r.hook.tools[len(r.hook.tools)-1]; t.IsNamed() && newest.name != c.name {
		return nil, nil
	}
	texts := map[string]string{}
	for name, value := range inputs {
		if text, isText := value.(string); isText {
			texts[name] = printable.Text(text)
		}
	}
	if !v.IsAbout(t, c.name, texts) {
		return nil, nil
	}
	q := &coleo.ToolRequest{Tool: c.name, Category: t.Category, Folder: c.folder, Shell: p.Shell}
	for name, value := range inputs {
		text, isText := value.(string)
		switch {
		case name == t.Command && isText:
			q.Command = text
		case slices.Contains(t.Files, name) && isText:
			q.Files = append(q.Files, text)
		case slices.Contains(t.Free, name) || slices.Contains(t.Free, "*"):
		case !isText:
			return nil, coleo.Errorf(coleo.EUnsupported, "the call of %s has an input that is not a text: %s", t.Name,
				oneLine(name))
		case !slices.Contains(t.Shows, name):
			return nil, coleo.Errorf(coleo.EUnsupported, "the call of %s has an input that is not known: %s", t.Name,
				oneLine(name))
		}
	}
	slices.Sort(q.Files)
	if t.Command != "" && q.Command == "" || len(q.Files) < len(t.Files) {
		return nil, coleo.Errorf(coleo.EUnsupported, "the call of %s has no command or no file", t.Name)
	}
	return q, nil
}
