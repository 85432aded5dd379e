package modelserver

import (
	"regexp"
	"strings"
)

// dialect is one model API. It decodes requests and encodes replies. Each dialect is in a file of its
// own. The function dialects lists all of them.
type dialect interface {
	name() string
	// serves reports whether a request to this path asks for a reply of the model.
	serves(path string) bool
	// fixedReply returns the response to a request that does not need a reply of the model. Such a request
	// asks for a list of models or a number of tokens. If the dialect does not know the request, fixedReply
	// returns nil.
	fixedReply(method, path string, body []byte) any
	decode(body []byte) (Turn, error)
	// addressed returns t with the data that the path of the request contains.
	addressed(t Turn, path string) Turn
	// stream returns an encoder that sends a reply in pieces. The parameter u contains the tokens of
	// the request, which some dialects report in the first piece.
	stream(o *httpWriter, t Turn, u Usage) encoder
	// whole returns a complete reply as one JSON document.
	whole(t Turn, c collected, u Usage) any
	// reported returns the part of a usage that the server sends to a client.
	reported(u Usage) Usage
	failure(f Failure) any
}

func dialects() []dialect { return []dialect{anthropic{}, chat{}, responses{}, gemini{}} }

// encoder encodes one reply. It stores errors in its httpWriter.
type encoder interface {
	text(s string)
	thinking(s string)
	call(c toolCall)
	fail(f Failure)
	end(u Usage)
}

// collected contains the whole content of a reply that is sent in one piece.
type collected struct {
	text, thinking string
	calls          []toolCall
}

// collector is the encoder of a reply that is sent in one piece.
type collector struct {
	dialect dialect
	out     *httpWriter
	turn    Turn
	reply   collected
}

func (c *collector) text(s string)     { c.reply.text += s }
func (c *collector) thinking(s string) { c.reply.thinking += s }
func (c *collector) call(call toolCall) {
	c.reply.calls = append(c.reply.calls, call)
}
func (c *collector) fail(f Failure) { c.out.fail(f, c.dialect.failure(f)) }
func (c *collector) end(u Usage)    { c.out.json(200, c.dialect.whole(c.turn, c.reply, u)) }

var (
	workingFolder = regexp.MustCompile(`(?im)^[ \t]*(?:[-*][ \t]*)?(?:primary |current )?working directory:[ ` +
		`\t]*(/[^\r\n]*?)[ \t]*$|<cwd>(/[^<]*)</cwd>|working in the directory:? *(/\S+)`)
	pasted = regexp.MustCompile(`(?s)^\s*<pasted_content id="[^"]*">\n(.*)\n</pasted_content[^>]*>\s*$`)
	dated  = regexp.MustCompile(`^<current_datetime>[^<]*</current_datetime>\n\n`)
	// deferredTools finds the names of deferred tools, whose schemas are not in the request. Each name is on a
	// separate line (Claude Code 2.1.329).
	deferredTools = regexp.MustCompile(`deferred tools are now available[^\n]*\n((?:[A-Za-z0-9_.-]+\n)+)`)
	// reachableTools finds the text that lists deferred tools, whose schemas are not in the request. quotedTool
	// finds each name in that text (Qwen Code 0.24.4).
	reachableTools = regexp.MustCompile(`tools are reachable through [^<]*`)
	quotedTool     = regexp.MustCompile(`(?m)^- "([A-Za-z0-9_.-]+)": `)
	// turnNotice finds the notice that a background task has ended. With such a notice, an agent CLI
	// can begin a turn by itself (Claude Code 2.1.329).
	turnNotice = regexp.MustCompile(`(?s)^\s*<system-reminder>\s*\[SYSTEM NOTIFICATION - NOT USER INPUT\].*?` +
		`(<task-notification>.*</task-notification>)\s*</system-reminder>\s*$`)
	addedText = regexp.MustCompile(`(?s)^\s*(?:<system-reminder>|<local-command-|<command-name>|\[Request ` +
		`interrupted by user|<environment_context>|<environment_details>|<user_instructions>|` +
		`<permissions|<session_context>|<turn_aborted>|# AGENTS\.md|This is the Gemini CLI\.)`)
)

// folderIn returns the work folder that a text names, or "".
func folderIn(text string) string {
	if m := workingFolder.FindStringSubmatch(text); m != nil {
		return m[1] + m[2] + m[3]
	}
	return ""
}

// turnReader makes a Turn from the messages of a request. A dialect calls its methods for the messages in their
// order.
type turnReader struct {
	turn       Turn
	newMessage bool // the user's next text begins a new message
	answered   bool // a tool result has followed the model's last reply, so the request continues a turn
}

// beginMessage begins a message of the user. A dialect calls it before it calls `user` for the texts of the
// message.
func (r *turnReader) beginMessage() { r.newMessage = true }

// reply notes that the conversation contains a reply of the model at this place.
func (r *turnReader) reply() { r.answered = false }

// user reads one text from a message of the user. A text that the agent CLI has added does not become the
// prompt. There is one exception: a notice with which the agent CLI has begun the turn is the prompt of that
// turn.
func (r *turnReader) user(text string) {
	notice := turnNotice.FindStringSubmatch(text)
	if notice != nil {
		r.turn.Notices++
	}
	isNotice := notice != nil && !r.answered
	if isNotice {
		text = notice[1]
	} else if addedText.MatchString(text) {
		r.turn.added += text + "\n"
		return
	}
	text = pasted.ReplaceAllString(dated.ReplaceAllString(text, ""), "$1")
	if r.newMessage {
		r.turn.Texts, r.newMessage = nil, false
		r.turn.Turns++
	}
	r.turn.Texts = append(r.turn.Texts, text)
	r.turn.said = append(r.turn.said, strings.Clone(text[:min(len(text), maxSaid)])) // the clone frees the request
	r.turn.Prompt, r.turn.Notice, r.turn.HasToolResult, r.turn.ToolResult = text, isNotice, false, ""
}

func (r *turnReader) result(text string) {
	r.turn.HasToolResult, r.turn.ToolResult, r.answered = true, text, true
}

func (r *turnReader) system(text string) {
	if r.turn.System != "" {
		r.turn.System += "\n"
	}
	r.turn.System += text
}

// finish returns the complete Turn.
func (r *turnReader) finish() Turn {
	t := r.turn
	t.Folder = folderIn(t.System + "\n" + t.added)
	t.Side = sideRequestOf(t)
	for _, m := range deferredTools.FindAllStringSubmatch(t.System+"\n"+t.added, -1) {
		t.Deferred = append(t.Deferred, strings.Fields(m[1])...)
	}
	for _, m := range quotedTool.FindAllStringSubmatch(reachableTools.FindString(t.added), -1) {
		t.Deferred = append(t.Deferred, m[1])
	}
	return t
}
