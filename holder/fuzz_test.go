package holder

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"
)

// FuzzFastWrite compares the fast parser of writes with encoding/json. It also compares the fast
// encoder of answers.
func FuzzFastWrite(f *testing.F) {
	for _, w := range []Write{
		{ID: "a", Kind: WriteKeys, Data: []byte("x")},
		{ID: "0b7c-1", Kind: WriteReply, SeenOffset: 1 << 40, OnlyIfEnd: true, Until: 1 << 41, UntilBoot: 1 << 42,
			Data: bytes.Repeat([]byte{0xff}, 100)},
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
		fr := &frameReader{conn: &sent}
		got := fr.parseWrite(raw)
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

// FuzzProtocol sends a hello and then random bytes to a holder. Afterwards the holder must still
// answer, or must have recorded the end of its program.
func FuzzProtocol(f *testing.F) {
	frame := func(v any) []byte {
		var b bytes.Buffer
		if err := writeJSON(&b, frameRequest, v); err != nil {
			f.Fatal(err)
		}
		return b.Bytes()
	}
	for _, q := range []request{
		{Op: askStatus}, {Op: askStream, From: -5}, {Op: askStream, From: 1 << 50, Host: true}, {Op: askWrite},
		{Op: askResize, Cols: -1, Rows: 1 << 30},
		{Op: askSignal, Signal: 99}, {Op: askCovered, From: -1}, {Op: askPace, Rate: -1}, {Op: askPace, Rate: 1},
		{Op: askStop, Grace: -1}, {Op: "later"}, {Op: askHello, Version: 2},
		{Op: askWrite, Write: &Write{ID: "a", Kind: WriteKeys, Data: []byte("x")}},
	} {
		f.Add(frame(q))
	}
	f.Add([]byte{frameRequest, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{frameData, 0, 0, 0, 1, 'x'})
	var l Launch
	begin := func(t *testing.T) {
		l = Launch{
			Arm: "fuzz-" + strconv.Itoa(os.Getpid()) + strconv.FormatInt(time.Now().UnixNano(), 36), Generation: 1,
			Nonce: "n", Workdir: "/",
			Dir:  filepath.Join(os.TempDir(), "coleo-fuzz-"+strconv.Itoa(os.Getpid())),
			Argv: []string{"/bin/sh", "-c", "stty raw -echo; exec sleep 1000"},
		}
		if _, err := Start(t.Context(), holdCommand(), l); err != nil {
			t.Fatal(err)
		}
	}
	f.Cleanup(func() {
		if c, err := Dial(l.Dir, l.Nonce); err == nil {
			_, _ = c.Stop(0)
			c.Close()
		}
		if l.Dir != "" {
			_ = AwaitGuard(l.Dir)
			_ = os.RemoveAll(l.Dir)
		}
	})
	// renew starts another holder if the bytes have ordered the last one to end. If the last holder
	// has ended for another reason, the test fails.
	renew := func(t *testing.T, why error) {
		if l.Dir != "" {
			if err := AwaitGuard(l.Dir); err != nil {
				t.Fatal(err)
			}
			if e, err := ReadExit(l.Dir); err != nil || e == nil || e.Reason != "" {
				t.Fatalf("the holder is gone (%v), its program's end is %+v (%v)", why, e, err)
			}
		}
		begin(t)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		conn, err := connect(l.Dir, "n")
		if l.Dir == "" || err != nil {
			renew(t, err)
			if conn, err = connect(l.Dir, "n"); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = conn.Write(raw)
		// Read the holder's answer, or stop after 2 ms if the holder waits for more bytes. Then check that the holder
		// still answers other clients.
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Millisecond))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
		c, err := Dial(l.Dir, "n")
		if err == nil {
			_, err = c.Status()
			c.Close()
		}
		if err != nil {
			renew(t, err)
		}
	})
}
