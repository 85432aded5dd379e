package holder

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strconv"
)

// This file parses exactly the writes that this package's client sends. The holder uses
// encoding/json for all other requests.
//
// A write is the only request that an arm receives thousands of times. With encoding/json, each
// write would leave a kilobyte of garbage. The garbage would cause garbage collections, and the
// heap stays larger after the first one. A fuzz test compares the two parsers.

// maxKeptFrame is the largest payload, in bytes, that fits into the reused buffer. Almost all
// writes are far shorter.
const maxKeptFrame = 4 << 10

// frameReader reads the frames of a connection and answers writes. It reuses its
// buffers.
type frameReader struct {
	conn  io.Writer
	from  *bufio.Reader // buffered, so that one read returns head and payload
	head  [5]byte
	in    []byte
	out   []byte
	write Write
	data  []byte
}

func newFrameReader(conn io.ReadWriter) *frameReader {
	return &frameReader{conn: conn, from: bufio.NewReaderSize(conn, maxKeptFrame)}
}

// next returns the type and the payload of the next frame. The payload is valid until the next call
// of next.
func (f *frameReader) next() (byte, []byte, error) {
	if _, err := io.ReadFull(f.from, f.head[:]); err != nil {
		return 0, nil, err
	}
	n, err := frameLength(f.head)
	if err != nil {
		return 0, nil, err
	}
	if n > maxKeptFrame {
		payload := make([]byte, n)
		_, err = io.ReadFull(f.from, payload)
		return f.head[0], payload, err
	}
	if f.in == nil {
		f.in = make([]byte, maxKeptFrame)
	}
	_, err = io.ReadFull(f.from, f.in[:n])
	return f.head[0], f.in[:n], err
}

// parseWrite returns the write in the request p. It returns nil if only encoding/json can parse the
// request. The write is valid until the next call of next.
func (f *frameReader) parseWrite(p []byte) *Write {
	w := &f.write
	*w = Write{}
	var ok bool
	var id, kind, number []byte
	if p, ok = bytes.CutPrefix(p, []byte(`{"op":"write","write":{"write_id":"`)); !ok {
		return nil
	}
	if id, p, ok = cutPlain(p, `","kind":"`); !ok || len(id) == 0 {
		return nil
	}
	if kind, p, ok = cutPlain(p, `","seen_offset":`); !ok {
		return nil
	}
	if number, p, ok = digits(p); !ok {
		return nil
	}
	p, w.OnlyIfEnd = bytes.CutPrefix(p, []byte(`,"only_if_end_at":true`))
	if rest, found := bytes.CutPrefix(p, []byte(`,"until":`)); found {
		var until []byte
		if until, p, ok = digits(rest); !ok {
			return nil
		}
		w.Until = wholeNumber(until)
	}
	if rest, found := bytes.CutPrefix(p, []byte(`,"until_boot":`)); found {
		var until []byte
		if until, p, ok = digits(rest); !ok {
			return nil
		}
		w.UntilBoot = wholeNumber(until)
	}
	if p, ok = bytes.CutPrefix(p, []byte(`,"data":"`)); !ok {
		return nil
	}
	if p, ok = bytes.CutSuffix(p, []byte(`"}}`)); !ok || bytes.ContainsAny(p, "\r\n\\") || len(p) > maxKeptFrame {
		return nil
	}
	if w.Kind, ok = writeKind(kind); !ok {
		return nil
	}
	if f.data == nil {
		f.data = make([]byte, maxKeptFrame)
	}
	n, err := base64.StdEncoding.Decode(f.data, p)
	if err != nil {
		return nil
	}
	w.ID, w.SeenOffset, w.Data = string(id), wholeNumber(number), f.data[:n]
	return w
}

func wholeNumber(digits []byte) (n int64) {
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n
}

func writeKind(name []byte) (WriteKind, bool) {
	switch string(name) {
	case string(WriteKeys):
		return WriteKeys, true
	case string(WriteReply):
		return WriteReply, true
	}
	return "", false
}

// cutPlain splits p at the first occurrence of the string `end`. It returns false if p does not
// contain `end`, or if the part before `end` has a character that JSON escapes.
func cutPlain(p []byte, end string) (before, after []byte, ok bool) {
	i := bytes.Index(p, []byte(end))
	if i < 0 {
		return nil, nil, false
	}
	for _, c := range p[:i] {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return nil, nil, false
		}
	}
	return p[:i], p[i+len(end):], true
}

// digits splits p into the whole number at its beginning and the rest. It returns false if there is
// no number, if the number has more than 18 digits, or if it has a leading zero.
func digits(p []byte) (number, rest []byte, ok bool) {
	n := 0
	for n < len(p) && p[n] >= '0' && p[n] <= '9' {
		n++
	}
	return p[:n], p[n:], n > 0 && n <= 18 && (n == 1 || p[0] != '0')
}

// answerWrite sends the outcome of a write, in the same bytes as encoding/json.
func (f *frameReader) answerWrite(w *Wrote) error {
	out := append(f.out[:0], frameResponse, 0, 0, 0, 0)
	out = append(out, `{"wrote":{"applied":`...)
	out = strconv.AppendBool(out, w.Applied)
	if w.Duplicate {
		out = append(out, `,"duplicate":true`...)
	}
	out = append(out, `,"end":`...)
	out = strconv.AppendInt(out, w.End, 10)
	out = append(out, "}}"...)
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-len(f.head)))
	f.out = out
	_, err := f.conn.Write(out)
	return err
}
