package holder

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"
)

// FuzzSwiftWrite holds the short way of reading a write against encoding/json,
// and the short way of answering it too.
func FuzzSwiftWrite(f *testing.F) {
	for _, w := range []Write{
		{ID: "a", Kind: WriteKeys, Data: []byte("x")},
		{ID: "0b7c-1", Kind: WriteReply, SeenOffset: 1 << 40, OnlyIfEnd: true, Data: bytes.Repeat([]byte{0xff}, 100)},
		{ID: `q"\`, Kind: "other", SeenOffset: -1},
	} {
		raw, err := json.Marshal(request{Op: askWrite, Write: &w})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"op":"write","write":{"write_id":"a","kind":"keys","seen_offset":01,"data":""}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var sent bytes.Buffer
		fr := &frames{conn: struct {
			io.Reader
			io.Writer
		}{nil, &sent}}
		got := fr.swiftWrite(raw)
		if got == nil {
			return
		}
		var q request
		if err := json.Unmarshal(raw, &q); err != nil || q.Op != askWrite || q.Write == nil {
			t.Fatalf("%q is taken as %+v; encoding/json says %v", raw, got, err)
		}
		if len(got.Data) == 0 && len(q.Write.Data) == 0 {
			got.Data, q.Write.Data = nil, nil
		}
		if !reflect.DeepEqual(got, q.Write) {
			t.Fatalf("%q is taken as %+v, want %+v", raw, got, q.Write)
		}
		wrote := Wrote{Applied: got.OnlyIfEnd, Duplicate: got.Kind == WriteReply, End: got.SeenOffset}
		var want bytes.Buffer
		_ = writeJSON(&want, frameResponse, response{Wrote: &wrote})
		if err := fr.answerWrite(&wrote); err != nil || !bytes.Equal(sent.Bytes(), want.Bytes()) {
			t.Fatalf("answer %q, want %q", sent.Bytes(), want.Bytes())
		}
	})
}
