package modelserver

import (
	"regexp"
	"strings"
)

// A dialect is one model API. It decodes requests and encodes replies. Each dialect has
// its own file. The function dialects lists all dialects.
type dialect interface {
	name() string
	// serves reports whether this dialect handles requests for a reply at this path.
	serves(path string) bool
	// fixed returns the answer to another small request, such as a model list or a
	// token count. It returns nil for any other request.
	fixed(method, path string, body []byte) any
	decode(body []byte) (Turn, error)
	// addressed adds the data in the path of a request to the decoded request.
	addressed(t Turn, path string) Turn
	// stream returns an encoder that writes a reply piece by piece.
	stream(o *httpWriter, t Turn) encoder
	// whole returns a complete reply as one JSON document.
	whole(t Turn, c collected, u usage) any
	failure(f Failure) any
}

func dialects() []dialect { return []dialect{anthropic{}, chat{}, responses{}, gemini{}} }

// An encoder writes one reply. Errors are kept in the encoder's httpWriter.
type encoder interface {
	text(s string)
	thinking(s string)
	call(c toolCall)
	fail(f Failure)
	end(u usage)
}

// collected is a reply that is sent in one piece.
type collected struct {
	text, thinking string
	calls          []toolCall
}

// collector is the encoder of a reply that is not streamed.
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
func (c *collector) end(u usage)    { c.out.json(200, c.dialect.whole(c.turn, c.reply, u)) }

var (
	workingFolder = regexp.MustCompile(`(?im)^[ \t]*(?:[-*][ \t]*)?(?:primary |current )?working directory:[ ` +
		`\t]*(/[^\r\n]*?)[ \t]*$|<cwd>(/[^<]*)</cwd>|working in the directory:? *(/\S+)`)
	pasted = regexp.MustCompile(`(?s)^\s*<pasted_content id="[^"]*">\n(.*)\n</pasted_content[^>]*>\s*$`)
	dated  = regexp.MustCompile(`^<current_datetime>[^<]*</current_datetime>\n\n`)
	// deferredTools finds names of tools, one in each row (Claude Code 2.1.329).
	deferredTools = regexp.MustCompile(`deferred tools are now available[^\n]*\n((?:[A-Za-z0-9_.-]+\n)+)`)
	// reachableTools finds the rows with such tools, and quotedTool the name in each of them
	// (Qwen Code 0.24.4).
	reachableTools = regexp.MustCompile(`tools are reachable through [^<]*`)
	quotedTool     = regexp.MustCompile(`(?m)^- "([A-Za-z0-9_.-]+)": `)
	addedText      = regexp.MustCompile(`(?s)^\s*(?:<system-reminder>|<local-command-|<command-name>|\[Request ` +
		`interrupted by user|<environment_context>|<environment_details>|<user_instructions>|` +
		`<permissions|<session_context>|<turn_aborted>|# AGENTS\.md|This is the Gemini CLI\.)`)
)

// folderIn returns the working folder that is named in text, or "".
func folderIn(text string) string {
	if m := workingFolder.FindStringSubmatch(text); m != nil {
		return m[1] + m[2] + m[3]
	}
	return ""
}

// turnReader makes a Turn from messages, which it reads in order.
type turnReader struct {
	turn       Turn
	newMessage bool // the next user text begins a new message
}

// beginMessage marks the beginning of the next message.
func (r *turnReader) beginMessage() { r.newMessage = true }

// user reads a text that has the role of the user.
func (r *turnReader) user(text string) {
	if addedText.MatchString(text) {
		r.turn.added += text + "\n"
		return
	}
	text = pasted.ReplaceAllString(dated.ReplaceAllString(text, ""), "$1")
	if r.newMessage {
		r.turn.Texts, r.newMessage = nil, false
		r.turn.Turns++
	}
	r.turn.Texts = append(r.turn.Texts, text)
	r.turn.Prompt, r.turn.HasToolResult, r.turn.ToolResult = text, false, ""
}

func (r *turnReader) result(text string) {
	r.turn.HasToolResult, r.turn.ToolResult = true, text
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
