package modelserver

// responsesStream sends a response as named events. The items are sent one after
// another. A message or a reasoning item stays open until an item of another kind
// begins.
type responsesStream struct {
	out   *httpWriter
	turn  Turn
	id    string
	begun bool
	index int      // index of the open item, or of the next item if none is open
	items []fields // finished items

	open   string // kind of the open item: "message" or "reasoning"; "" if none is open
	itemID string
	words  string
}

func (responses) stream(o *httpWriter, t Turn, _ Usage) encoder {
	return &responsesStream{out: o, turn: t, id: newID("resp_")}
}

func (s *responsesStream) event(kind string, more fields) {
	if !s.begun {
		s.begun = true
		s.event("response.created", fields{"response": s.response("in_progress")})
	}
	more["type"] = kind
	s.out.event(kind, more)
}

func (s *responsesStream) response(status string) fields {
	return fields{"id": s.id, "object": "response", "status": status, "model": s.turn.Model,
		"output": append([]fields{}, s.items...)}
}

// openItem makes sure that an item of the given kind is open. If another item is open,
// openItem closes it first.
func (s *responsesStream) openItem(kind string, item fields) {
	if s.open == kind {
		return
	}
	s.shut()
	s.open, s.words, s.itemID = kind, "", newID(kind[:3]+"_")
	item["id"], item["type"] = s.itemID, kind
	s.event("response.output_item.added", fields{"output_index": s.index, "item": item})
}

// shut closes the open item, if there is one.
func (s *responsesStream) shut() {
	switch s.open {
	case "":
		return
	case "message":
		s.closeItem(responsesText(s.itemID, s.words))
	case "reasoning":
		s.closeItem(responsesThought(s.itemID, s.words))
	}
	s.open = ""
}

func (s *responsesStream) closeItem(item fields) {
	s.event("response.output_item.done", fields{"output_index": s.index, "item": item})
	s.items = append(s.items, item)
	s.index++
}

func (s *responsesStream) text(text string) {
	s.openItem("message", fields{"role": "assistant", "content": []any{}})
	s.words += text
	s.event("response.output_text.delta", fields{"item_id": s.itemID, "output_index": s.index, "content_index": 0,
		"delta": text})
}

func (s *responsesStream) thinking(text string) {
	if s.open != "reasoning" {
		s.openItem("reasoning", fields{"summary": []any{}})
		s.event("response.reasoning_summary_part.added", fields{
			"item_id": s.itemID, "output_index": s.index, "summary_index": 0,
			"part": fields{"type": "summary_text", "text": ""},
		})
	}
	s.words += text
	s.event("response.reasoning_summary_text.delta",
		fields{"item_id": s.itemID, "output_index": s.index, "summary_index": 0, "delta": text})
}

func (s *responsesStream) call(c toolCall) {
	s.shut()
	item := responsesCall(c)
	s.event("response.output_item.added", fields{"output_index": s.index, "item": item})
	s.closeItem(item)
}

func (s *responsesStream) fail(f Failure) {
	if !s.begun {
		s.out.fail(f, responses{}.failure(f))
		return
	}
	failed := s.response("failed")
	failed["error"] = fields{"code": "server_error", "message": f.Message}
	s.event("response.failed", fields{"response": failed})
}

func (s *responsesStream) end(u Usage) {
	s.shut()
	full := s.response("completed")
	full["usage"] = responsesUsage(u)
	s.event("response.completed", fields{"response": full})
}
