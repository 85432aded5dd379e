package terminal

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/pty"
)

// inband is one way in which a program tells its terminal how it is.
type inband struct {
	name   string
	kind   pty.NoticeKind
	read   func(text string) (word, detail string, ok bool)
	claims map[string]coleo.State // what each word adds to a screen's verdict; others add nothing
	weak   bool                   // tools that run in the terminal use it too
}

// inbands lists them: the Program Status Protocol (revision 0.4), the Terminal
// Agent Protocol, and ConEmu's progress. Titles are regions of the screen's
// rules.
func inbands() []inband {
	return []inband{
		{name: "osc7501", kind: pty.NoticeStatus, read: programStatus, claims: map[string]coleo.State{
			"working": coleo.Processing, "blocked": coleo.WaitingApproval,
		}},
		{name: "osc26", kind: pty.NoticeSession, read: agentStatus, claims: map[string]coleo.State{
			"running": coleo.Processing, "awaiting-approval": coleo.WaitingApproval, "awaiting-input": coleo.WaitingApproval,
		}},
		{name: "osc9;4", kind: pty.NoticeProgress, read: progress, weak: true, claims: map[string]coleo.State{
			"progress": coleo.Processing, "busy": coleo.Processing,
		}},
	}
}

// voices returns a voice for each of them, that has said nothing.
func voices() map[pty.NoticeKind]*voice {
	out := map[pty.NoticeKind]*voice{}
	for _, b := range inbands() {
		out[b.kind] = &voice{name: b.name, weak: b.weak}
	}
	return out
}

// heed takes what the program says beside its screen, and tells whether that
// claims something on which more may rest than caution.
func (r *reader) heed(n pty.Notice, now time.Time) bool {
	for _, b := range r.inbands {
		if b.kind != n.Kind {
			continue
		}
		word, detail, ok := b.read(n.Text)
		if !ok {
			return false
		}
		v := r.voices[n.Kind]
		v.say(word, detail, b.claims[word], now)
		return v.state() != "" && !v.weak
	}
	return false
}

// fields splits KEY=VALUE pairs.
func fields(text, separator string) map[string]string {
	out := map[string]string{}
	for field := range strings.SplitSeq(text, separator) {
		if key, value, ok := strings.Cut(field, "="); ok {
			out[key] = value
		}
	}
	return out
}

// programStatus reads OSC 7501: "state=working:app=…:msg=BASE64".
func programStatus(text string) (word, detail string, ok bool) {
	f := fields(text, ":")
	detail = f["msg"]
	if plain, err := base64.StdEncoding.DecodeString(detail); err == nil {
		detail = string(plain)
	}
	return f["state"], strings.TrimSpace(f["kind"] + " " + detail), true
}

// agentStatus reads OSC 26: "Status=running;Detail=…". Sequences without a
// status say nothing of it.
func agentStatus(text string) (word, detail string, ok bool) {
	f := fields(text, ";")
	return plainly(f["Status"]), plainly(f["Detail"]), f["Status"] != ""
}

// plainly undoes base64 where a text is that and comes to words.
func plainly(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(plain) || strings.ContainsFunc(string(plain), func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	return string(plain)
}

// progress reads OSC 9;4: "state;percent".
func progress(text string) (word, detail string, ok bool) {
	state, percent, _ := strings.Cut(text, ";")
	words := map[string]string{"0": "clear", "1": "progress", "2": "failed", "3": "busy", "4": "paused"}
	if word = words[state]; word == "progress" && percent != "" {
		detail = percent + "%"
	}
	return word, detail, word != ""
}
