package modelserver

import "regexp"

// A dialect is one model API: it decodes requests and encodes replies. Each dialect has
// its own file; dialects lists them.
type dialect interface {
	name() string
	// serves reports whether a request for a reply arrives at this path.
	serves(path string) bool
	// fixed answers other small requests (model lists, token counts), or returns nil.
	fixed(method, path string, body []byte) any
	decode(body []byte) (Turn, error)
	// addressed adds the data in a request's path to the decoded request.
	addressed(t Turn, path string) Turn
	// stream returns an encoder that writes a reply as it comes.
	stream(o *out, t Turn) encoder
	// whole returns a reply as one JSON document.
	whole(t Turn, c collected, u usage) any
	failure(f Failure) any
}

func dialects() []dialect { return []dialect{anthropic{}, chat{}, responses{}, gemini{}} }

// An encoder writes one reply. Errors stay in its out.
type encoder interface {
	text(s string)
	thinking(s string)
	call(c toolCall)
	fail(f Failure)
	end(u usage)
}

// collected is a reply that is sent in one piece.
type collected struct {
	said, thought string
	calls         []toolCall
}

// collector is the encoder of a reply that is not streamed.
type collector struct {
	dialect dialect
	out     *out
	turn    Turn
	got     collected
}

func (c *collector) text(s string)     { c.got.said += s }
func (c *collector) thinking(s string) { c.got.thought += s }
func (c *collector) call(call toolCall) {
	c.got.calls = append(c.got.calls, call)
}
func (c *collector) fail(f Failure) { c.out.fail(f, c.dialect.failure(f)) }
func (c *collector) end(u usage)    { c.out.json(200, c.dialect.whole(c.turn, c.got, u)) }

var (
	workingFolder = regexp.MustCompile(`(?im)^[ \t]*(?:[-*][ \t]*)?(?:primary |current )?working directory:[ \t]*(/[^\r\n]*?)[ \t]*$|<cwd>(/[^<]*)</cwd>|working in the directory:? *(/\S+)`)
	pasted        = regexp.MustCompile(`(?s)^\s*<pasted_content id="[^"]*">\n(.*)\n</pasted_content[^>]*>\s*$`)
	dated         = regexp.MustCompile(`^<current_datetime>[^<]*</current_datetime>\n\n`)
	addedText     = regexp.MustCompile(`(?s)^\s*(?:<system-reminder>|<local-command-|<command-name>|\[Request interrupted by user|<environment_context>|<environment_details>|<user_instructions>|<permissions|<session_context>|<turn_aborted>|# AGENTS\.md|This is the Gemini CLI\.)`)
)

// folderIn returns the working folder that a text names, or "".
func folderIn(text string) string {
	if m := workingFolder.FindStringSubmatch(text); m != nil {
		return m[1] + m[2] + m[3]
	}
	return ""
}

// reader collects a Turn from messages in their order.
type reader struct {
	turn  Turn
	fresh bool // the next user text begins a new message
}

// message begins the next message.
func (r *reader) message() { r.fresh = true }

// user reads a text with the role of the user.
func (r *reader) user(text string) {
	if addedText.MatchString(text) {
		r.turn.added += text + "\n"
		return
	}
	text = pasted.ReplaceAllString(dated.ReplaceAllString(text, ""), "$1")
	if r.fresh {
		r.turn.Texts, r.fresh = nil, false
		r.turn.Turns++
	}
	r.turn.Texts = append(r.turn.Texts, text)
	r.turn.Prompt, r.turn.HasToolResult, r.turn.ToolResult = text, false, ""
}

func (r *reader) result(text string) {
	r.turn.HasToolResult, r.turn.ToolResult = true, text
}

func (r *reader) system(text string) {
	if r.turn.System != "" {
		r.turn.System += "\n"
	}
	r.turn.System += text
}

// done returns the complete Turn.
func (r *reader) done() Turn {
	t := r.turn
	t.Folder = folderIn(t.System + "\n" + t.added)
	t.Side = sideOf(t)
	return t
}
