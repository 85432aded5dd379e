package mend

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/rules"
)

// freeName returns the given name. It adds a number if another rule or dialog of this kind already
// has the name.
func (e *editor) freeName(kind, name string) string {
	free := name
	for n := 2; e.doc.find(kind, free) >= 0; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// answerKeys matches the keys that a new dialog does not copy from another dialog. Most of them say
// how to answer the other dialog. Recordings do not prove that the same keys answer the new dialog.
var answerKeys = regexp.MustCompile(`(?m)^(approve|always|deny|deny_keys|tick|all|submit|submit_keys|text|cut|draft|` +
	`name|kind)\s*=.*\n`)

var (
	whenKey  = regexp.MustCompile(`(?ms)^when = (\[\{.*?\}\]|\[\n.*?^\])[^\n]*\n`)
	titleKey = regexp.MustCompile(`(?m)^(title = .*|block = true)\n`)
	comments = regexp.MustCompile(`(?m)^#.*\n`)
)

// deriveDialogs proposes new dialogs. Each of them is a copy of another dialog, sometimes with a new
// title. The caller passes the conditions of the new dialogs, as TOML.
func (e *editor) deriveDialogs(when string, cost int) {
	at := e.doc.find("dialog", e.group.rule)
	if at < 0 {
		at = slices.IndexFunc(e.doc.items, func(it item) bool { return it.kind == "dialog" })
	}
	tables := 0
	for _, it := range e.doc.items {
		if it.kind != "dialog" || tables == mostTables {
			continue
		}
		body := comments.ReplaceAllString(e.doc.text[it.start:it.end], "")
		body = answerKeys.ReplaceAllString(body, "")
		for i, table := range e.variants(body, it.name, when) {
			if !e.titlesRead(table) {
				continue
			}
			tables++
			e.add(e.doc.withInserted(at, table), fmt.Sprintf("a new dialog like %q: %s; add the meaning of its options",
				it.name, strings.TrimSpace(when)), cost+i*10+len(table)/20)
		}
	}
}

// variants returns new dialogs that are copies of the named dialog. A copy has the kind of the
// original or the kind "other". It has the title of the original or a new title.
func (e *editor) variants(body, name, when string) []string {
	kinds := []string{e.kindLike(name)}
	if kinds[0] != string(coleo.DialogOther) {
		kinds = append(kinds, string(coleo.DialogOther)) // only a dialog of the kind "other" may lack options
	}
	title := "title = " + quote(e.titlePattern()) + "\n"
	retitled := strings.Replace(titleKey.ReplaceAllLiteralString(body, ""), "select = ", title+"select = ", 1)
	var out []string
	for _, text := range []string{body, retitled} {
		for _, kind := range kinds {
			head := fmt.Sprintf("[[dialog]]\nname = %q\nkind = %q\n%s", e.freeName("dialog", "asks"), kind, when)
			out = append(out, strings.Replace(whenKey.ReplaceAllLiteralString(text, ""), "[[dialog]]\n", head, 1))
		}
	}
	return out
}

// kindLike returns the kind of the dialog with this name.
func (e *editor) kindLike(name string) string {
	for _, d := range e.spec.Dialogs {
		if d.Name == name {
			return d.Kind
		}
	}
	return string(coleo.DialogOther)
}

// titlesRead reports whether the new dialog in `table` finds the right title on at least one picture of
// the group. The right title is the one in the label of the picture.
func (e *editor) titlesRead(table string) bool {
	spec, err := rules.ParseSpec("new", []byte("name = \"x\"\ncommand = \"x\"\n[keys]\nsubmit = \"ENTER\"\n"+
		"[composer]\nbottom = 'x'\n"+table))
	if err != nil {
		return false
	}
	for _, s := range e.group.shots {
		v := spec.Read(rules.NewPicture(s.screen, &spec.Composer))
		if v.Dialog != nil && s.want.title != "" && v.Dialog.Title == s.want.title {
			return true
		}
	}
	return false
}

// titleWords is the largest number of words of a title that a condition contains. A narrow terminal
// wraps longer texts.
const titleWords = 5

// titleCondition returns a pattern for the beginning of the dialog titles in the labels.
func (e *editor) titleCondition() string {
	words := strings.Split(e.titleText(), " ")
	return `(?m)^\W*` + strings.Join(words[:min(len(words), titleWords)], " ")
}

// titlePattern returns a pattern for a row that shows one of the dialog titles in the labels.
func (e *editor) titlePattern() string {
	if text := e.titleText(); text != "" {
		return `^\W*(` + text + `)(?: |\W*$)`
	}
	return `^ *(\S.*[?:])$`
}

// titleText returns a pattern for the titles in the labels of the recordings: their common beginning,
// any text, and their common end. It returns "" if there are no titles, or if they share too little.
func (e *editor) titleText() string {
	var titles []string
	for _, s := range e.group.shots {
		if s.want.title != "" && !slices.Contains(titles, s.want.title) {
			titles = append(titles, s.want.title)
		}
	}
	if len(titles) == 0 {
		return ""
	}
	head, tail := titles[0], titles[0]
	for _, t := range titles[1:] {
		for !strings.HasPrefix(t, head) {
			head = head[:len(head)-1]
		}
		for !strings.HasSuffix(t, tail) {
			tail = tail[1:]
		}
	}
	switch {
	case len(titles) == 1:
		return quoteText(titles[0])
	case len(head)+len(tail) < 4:
		return ""
	}
	return quoteText(strings.ToValidUTF8(head, "")) + `.*` + quoteText(strings.ToValidUTF8(tail, ""))
}
