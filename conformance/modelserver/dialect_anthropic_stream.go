package modelserver

// thinkingSignature replaces the signature that the real API puts into thinking blocks.
const thinkingSignature = "c2NyaXB0ZWQ="

// anthropicStream sends a message as events. The content blocks are sent one after
// another. Each block is opened, filled by deltas and closed.
type anthropicStream struct {
	out     *httpWriter
	turn    Turn
	usage   Usage // the request's tokens, which the first event reports
	begun   bool
	index   int
	open    string // the kind of the open block; "" if no block is open
	stopped string // the reason why the message ended
}

func (anthropic) stream(o *httpWriter, t Turn, u Usage) encoder {
	u.Output, u.Reasoning = 1, 0
	return &anthropicStream{out: o, turn: t, usage: u, stopped: "end_turn"}
}

func (s *anthropicStream) send(kind string, f fields) {
	f["type"] = kind
	s.out.event(kind, f)
}

func (s *anthropicStream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	s.send("message_start", fields{"message": anthropicReply(s.turn, []any{}, nil, s.usage)})
}

// block makes sure that a block of the given kind is open. If another block is open,
// block closes it first.
func (s *anthropicStream) block(kind string, start fields) {
	s.begin()
	if s.open == kind {
		return
	}
	s.close()
	start["type"] = kind
	s.send("content_block_start", fields{"index": s.index, "content_block": start})
	s.open = kind
}

func (s *anthropicStream) delta(kind, name, value string) {
	s.send("content_block_delta", fields{"index": s.index, "delta": fields{"type": kind, name: value}})
}

func (s *anthropicStream) close() {
	if s.open == "" {
		return
	}
	if s.open == "thinking" {
		s.delta("signature_delta", "signature", thinkingSignature)
	}
	s.send("content_block_stop", fields{"index": s.index})
	s.open = ""
	s.index++
}

func (s *anthropicStream) text(text string) {
	s.block("text", fields{"text": ""})
	s.delta("text_delta", "text", text)
}

func (s *anthropicStream) thinking(text string) {
	s.block("thinking", fields{"thinking": "", "signature": ""})
	s.delta("thinking_delta", "thinking", text)
}

func (s *anthropicStream) call(c toolCall) {
	s.close()
	s.block("tool_use", fields{"id": c.id, "name": c.name, "input": fields{}})
	half := len(c.args) / 2
	s.delta("input_json_delta", "partial_json", c.args[:half])
	s.delta("input_json_delta", "partial_json", c.args[half:])
	s.close()
	s.stopped = "tool_use"
}

func (s *anthropicStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, anthropic{}.failure(f))
		return
	}
	s.out.event("error", anthropic{}.failure(f))
}

func (s *anthropicStream) end(u Usage) {
	s.begin()
	s.close()
	s.send("message_delta", fields{
		"delta": fields{"stop_reason": s.stopped, "stop_sequence": nil},
		"usage": anthropicUsage(u), // the totals of the whole reply
	})
	s.send("message_stop", fields{})
}
