package reading

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"coleo.dev"
	"coleo.dev/pty"
)

// protocol describes how programs report their state to their terminal with one kind of escape
// sequence.
type protocol struct {
	name   string
	kind   pty.NoticeKind
	read   func(text string) (word, detail string, ok bool)
	claims map[string]coleo.State // for each word, the state that it claims; a word that is missing here claims none
	weak   bool                   // less reliable than other protocols, because tools of the agent CLI use it too
}

// protocols returns the protocols with which programs report their state in their output: the
// Program Status Protocol (revision 0.4), the Terminal Agent Protocol, and ConEmu's progress reports
// (OSC 9;4). Window titles are not among them, because the rules read the title as a region of the
// screen.
func protocols() []protocol {
	return []protocol{
		{name: "osc7501", kind: pty.NoticeStatus, read: programStatus, claims: map[string]coleo.State{
			"working": coleo.Processing, "blocked": coleo.WaitingApproval,
		}},
		{name: "osc26", kind: pty.NoticeSession, read: agentStatus, claims: map[string]coleo.State{
			"running": coleo.Processing, "awaiting-approval": coleo.WaitingApproval,
			"awaiting-input": coleo.WaitingApproval,
		}},
		{name: "osc9;4", kind: pty.NoticeProgress, read: progress, weak: true, claims: map[string]coleo.State{
			"progress": coleo.Processing, "busy": coleo.Processing,
		}},
	}
}

// newWitnesses returns a new witness for each protocol.
func newWitnesses() map[pty.NoticeKind]*witness {
	out := map[pty.NoticeKind]*witness{}
	for _, b := range protocols() {
		out[b.kind] = &witness{name: b.name, weak: b.weak}
	}
	return out
}

// takeNotice records a state that the program reports with an escape sequence, the notice `n`. It returns
// true if the notice claims a state and its protocol is not weak. A claim with a weak protocol only makes
// Coleo more cautious.
func (r *Reader) takeNotice(n pty.Notice, now time.Time) bool {
	for _, b := range r.protocols {
		if b.kind != n.Kind {
			continue
		}
		word, detail, ok := b.read(n.Text)
		if !ok {
			return false
		}
		v, claim := r.inband[n.Kind], b.claims[word]
		if !v.weak {
			r.background = ""
		}
		if claim.Working() && r.spec.OnlyBackground(detail) {
			r.background, claim = oneLine(detail), ""
		}
		if v.claim.Working() && claim == "" && !v.weak && !v.since.Before(r.turn.submitted.Time) {
			r.closeTurn(now)
		}
		v.record(word, detail, claim, now)
		return v.claims() != "" && !v.weak
	}
	return false
}

// fields splits text into KEY=VALUE pairs.
func fields(text, separator string) map[string]string {
	out := map[string]string{}
	for field := range strings.SplitSeq(text, separator) {
		if key, value, ok := strings.Cut(field, "="); ok {
			out[key] = value
		}
	}
	return out
}

// programStatus parses the text of OSC 7501: "state=working:app=…:msg=BASE64".
func programStatus(text string) (word, detail string, ok bool) {
	f := fields(text, ":")
	detail = f["msg"]
	if plain, err := base64.StdEncoding.DecodeString(detail); err == nil {
		detail = string(plain)
	}
	return f["state"], strings.TrimSpace(f["kind"] + " " + detail), true
}

// agentStatus parses the text of OSC 26: "Status=running;Detail=…". `ok` is false if the text has no
// Status.
func agentStatus(text string) (word, detail string, ok bool) {
	f := fields(text, ";")
	return decodeBase64(f["Status"]), decodeBase64(f["Detail"]), f["Status"] != ""
}

// decodeBase64 decodes text if it is the base64 form of printable text. It returns any other text
// unchanged.
func decodeBase64(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(plain) || strings.ContainsFunc(string(plain), func(r rune) bool {
		return !unicode.IsPrint(r)
	}) {
		return text
	}
	return string(plain)
}

// progress parses the text of OSC 9;4: "state;percent".
func progress(text string) (word, detail string, ok bool) {
	state, percent, _ := strings.Cut(text, ";")
	words := map[string]string{"0": "clear", "1": "progress", "2": "failed", "3": "busy", "4": "paused"}
	if word = words[state]; word == "progress" && percent != "" {
		detail = percent + "%"
	}
	return word, detail, word != ""
}
