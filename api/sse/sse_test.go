package sse

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	want := []Message{
		{ID: "1", Event: "state", Data: []byte(`{"a": 1}`)},
		{ID: "2"}, // a sign of life
		{Data: []byte("two\nlines")},
		{ID: "z9", Event: "turn", Data: []byte(strings.Repeat("long ", 20_000))},
	}
	var body bytes.Buffer
	for _, m := range want {
		if err := Write(&body, m); err != nil {
			t.Fatal(err)
		}
	}
	var got []Message
	for m, err := range Read(iotest.OneByteReader(&body)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m)
	}
	if len(got) != len(want) {
		t.Fatalf("%d messages came, want %d", len(got), len(want))
	}
	for i, m := range want {
		if got[i].ID != m.ID || got[i].Event != m.Event || !bytes.Equal(got[i].Data, m.Data) {
			t.Errorf("message %d = %.80q, want %.80q", i, got[i], m)
		}
	}
}

func TestABrokenBodyIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var last error
	for _, err := range Read(iotest.TimeoutReader(strings.NewReader("data: 1\n\ndata"))) {
		last = err
	}
	if last == nil {
		t.Error("no error of a body whose second read fails")
	}
	if err := Write(failing{broken}, Message{Data: []byte("x")}); !errors.Is(err, broken) {
		t.Errorf("write = %v, want %v", err, broken)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
