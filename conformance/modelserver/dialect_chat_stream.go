package modelserver

// chatStream sends a completion as chunks. Each chunk is an event without a name.
type chatStream struct {
	out     *httpWriter
	turn    Turn
	id      string
	created int64
	begun   bool
	calls   int
}

func (chat) stream(o *httpWriter, t Turn, _ Usage) encoder {
	return &chatStream{out: o, turn: t, id: newID("chatcmpl-"), created: o.now().Unix()}
}

func (s *chatStream) chunk(choices []fields, more fields) {
	c := fields{
		"id": s.id, "object": "chat.completion.chunk", "created": s.created, "model": s.turn.Model, "choices": choices,
	}
	for k, v := range more {
		c[k] = v
	}
	s.out.event("", c)
}

func (s *chatStream) delta(d fields, finish any) {
	if !s.begun {
		s.begun = true
		s.delta(fields{"role": "assistant", "content": ""}, nil)
	}
	s.chunk([]fields{{"index": 0, "delta": d, "finish_reason": finish}}, nil)
}

func (s *chatStream) text(text string)     { s.delta(fields{"content": text}, nil) }
func (s *chatStream) thinking(text string) { s.delta(fields{"reasoning_content": text}, nil) }

func (s *chatStream) call(c toolCall) {
	args := c.args
	c.args = ""
	s.delta(fields{"tool_calls": []fields{chatCall(c, s.calls)}}, nil)
	for _, part := range []string{args[:len(args)/2], args[len(args)/2:]} {
		s.delta(fields{"tool_calls": []fields{{"index": s.calls, "function": fields{"arguments": part}}}}, nil)
	}
	s.calls++
}

func (s *chatStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, chat{}.failure(f))
		return
	}
	s.out.event("", chat{}.failure(f))
}

func (s *chatStream) end(u Usage) {
	finish := "stop"
	if s.calls > 0 {
		finish = "tool_calls"
	}
	s.delta(fields{}, finish)
	if s.turn.wantsUsage {
		s.chunk([]fields{}, fields{"usage": chatUsage(u)})
	}
	s.out.line("", "[DONE]")
}
