// Package sse writes and reads server-sent events: the format text/event-stream of the HTML
// standard. A message has an id, a name and data. A client that connects again sends the id of the
// last message that it received, in the header Last-Event-ID.
package sse

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
)

// ContentType is the Content-Type of an answer that consists of server-sent events.
const ContentType = "text/event-stream"

// LastID is the name of the header with the id of the last message that the client received.
const LastID = "Last-Event-ID"

// mostLine is the largest size of a line that Read accepts, in bytes. The payload of an event is
// one line, and the largest payload has about 2 MiB.
const mostLine = 8 << 20

// Message is one message. ID and Event must not contain line breaks.
type Message struct {
	ID    string
	Event string // the name of the message
	Data  []byte
}

// Write writes a message. A message without data only changes the last id that the client knows,
// and shows that the connection is alive.
func Write(w io.Writer, m Message) error {
	var b bytes.Buffer
	if len(m.Data) == 0 {
		b.WriteString(":\n")
	}
	if m.ID != "" {
		fmt.Fprintf(&b, "id: %s\n", m.ID)
	}
	if m.Event != "" {
		fmt.Fprintf(&b, "event: %s\n", m.Event)
	}
	for line := range bytes.Lines(m.Data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimSuffix(line, []byte("\n")))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// Read returns the messages of a body. The sequence ends without an error at the end of the body,
// and with an error if a read fails. A message without data contains only an ID.
func Read(r io.Reader) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, mostLine)
		var m Message
		begun := false
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				if begun && !yield(m, nil) {
					return
				}
				m, begun = Message{}, false
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			begun = true
			switch name {
			case "id":
				m.ID = value
			case "event":
				m.Event = value
			case "data":
				if m.Data != nil {
					m.Data = append(m.Data, '\n')
				}
				m.Data = append(m.Data, value...)
			}
		}
		if err := lines.Err(); err != nil {
			yield(Message{}, err)
		}
	}
}
