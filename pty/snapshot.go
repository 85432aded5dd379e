package pty

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"
	"unicode/utf8"

	"coleo.dev/pty/width"
)

// coreVersion must increase with each change to the state of a Core, and with each change to how a
// Core reads output. Otherwise a restored screen could be a mixture of two emulators.
const coreVersion = 2

// A snapshot consists of these parts:
//
//   - snapshotMagic
//   - coreVersion, as two bytes, big-endian
//   - the IEEE CRC-32 of the last part, as four bytes, big-endian
//   - the state of a Core, written by a tape (see the type tape) and deflated
const (
	snapshotMagic  = "coleo screen\n"
	snapshotHeader = len(snapshotMagic) + 2 + 4
)

// errSnapshotVersion is the error for a snapshot with another coreVersion.
var errSnapshotVersion = errors.New("the snapshot is of another emulator version")

// errSnapshot is the error for data that does not come from a Core.
var errSnapshot = errors.New("the snapshot is damaged")

// Snapshot returns the state of c, including an incomplete sequence, and the replies and notices
// that nobody has fetched yet. It leaves out the state that Changed compares with, the setting of
// NarrowEmoji, and the counts since New or Restore, such as WholeFrames. Restore accepts only a
// snapshot with its own coreVersion.
func (c *Core) Snapshot() []byte {
	return sealSnapshot(c.body())
}

// body returns the state of c as the bytes that a tape writes.
func (c *Core) body() []byte {
	t := &tape{}
	c.walk(t)
	return t.out
}

// deflaters contains writers for sealSnapshot. A new writer clears a megabyte, which takes longer than the
// compression of a usual screen.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // never fails, because the level is a constant
	return w
}}

// sealSnapshot deflates the body and puts the header before it.
func sealSnapshot(body []byte) []byte {
	var out bytes.Buffer
	out.Write(make([]byte, snapshotHeader))
	w := deflaters.Get().(*flate.Writer)
	w.Reset(&out)
	_, _ = w.Write(body)
	_ = w.Close()
	w.Reset(io.Discard) // while w is in the pool, it must not keep the buffer `out` in memory
	deflaters.Put(w)
	data := out.Bytes()
	copy(data, snapshotMagic)
	binary.BigEndian.PutUint16(data[len(snapshotMagic):], coreVersion)
	binary.BigEndian.PutUint32(data[len(snapshotMagic)+2:], crc32.ChecksumIEEE(data[snapshotHeader:]))
	return data
}

// Restore returns a screen with the state that Snapshot has saved. Further output has the same
// effect as on the saved screen. The first call of Changed returns everything. The memory of the
// screen is limited, whatever the data contains.
//
// The error wraps errSnapshotVersion if the snapshot has another coreVersion. Restore returns
// another error if the data is incomplete, damaged or not a snapshot.
func Restore(data []byte) (*Core, error) {
	if len(data) < snapshotHeader || string(data[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("restore screen: no snapshot")
	}
	head, body := data[len(snapshotMagic):snapshotHeader], data[snapshotHeader:]
	if v := binary.BigEndian.Uint16(head); v != coreVersion {
		return nil, fmt.Errorf("restore screen: %w: %d, not %d", errSnapshotVersion, v, coreVersion)
	}
	if binary.BigEndian.Uint32(head[2:]) != crc32.ChecksumIEEE(body) {
		return nil, fmt.Errorf("restore screen: %w: its checksum differs", errSnapshot)
	}
	c := &Core{widths: width.Standard()}
	t := &tape{in: bufio.NewReader(flate.NewReader(bytes.NewReader(body)))}
	c.walk(t)
	if _, err := t.in.ReadByte(); t.err == nil && !errors.Is(err, io.EOF) {
		t.err = errSnapshot // more data follows the state, or the data ends too early
	}
	if t.err != nil {
		return nil, fmt.Errorf("restore screen: %w", t.err)
	}
	return c, nil
}

// walk passes the fields of c one after the other to the tape t, which writes or reads them.
func (c *Core) walk(t *tape) {
	number(t, &c.cols, minCols, maxSize)
	number(t, &c.rows, minRows, maxSize)
	c.parser.walk(t)
	texts(t, &c.clusters, charMask, maxCluster+utf8.UTFMax)
	texts(t, &c.links, maxLinks, maxLinkTarget)
	number(t, &c.clusterLimit, 0, 2*charMask)
	number(t, &c.linkPatience, 0, maxLinks)
	number(t, &c.modes, 0, 1<<len(modeTable)-1)
	c.buf = &c.main
	c.main.walk(t, c)
	if c.modes&modeAltScreen != 0 {
		c.buf = &c.alt
		c.alt.walk(t, c)
	}
	c.history.walk(t)
	c.pen.walk(t)
	number(t, &c.gl, 0, int64(len(c.charsets))-1)
	for i := range c.charsets {
		number(t, &c.charsets[i], 0, math.MaxUint8)
	}
	list(t, &c.tabs, maxSize, t.flag)
	t.check(len(c.tabs) == 0 || len(c.tabs) >= c.cols)
	number(t, &c.joining.Kind, 0, width.LastKind)
	number(t, &c.joining.Cells, 0, 2)
	t.text(&c.title, maxTitle)
	list(t, &c.titles, maxTitles, func(s *string) { t.text(s, maxTitle) })
	t.bytes(&c.replies, maxReplies)
	list(t, &c.notices, maxNotices, func(n *Notice) {
		t.text((*string)(&n.Kind), maxNoticeText)
		t.text(&n.Text, maxNoticeText)
	})
	number(t, &c.frames, 0, math.MaxInt64)
	c.growAllowance()
	number(t, &c.allowance, 0, maxAllowance)
}

func (p *parser) walk(t *tape) {
	number(t, &p.state, int64(ground), int64(skipText))
	number(t, &p.need, 0, utf8.UTFMax-1)
	if p.need == 0 { // no character is incomplete, so low and char have no meaning
		p.low, p.char = 0, 0
	}
	number(t, &p.low, 0, 0x10000)
	number(t, &p.char, 0, 1<<21-1)
	t.flag(&p.dcs)
	number(t, &p.prefix, 0, math.MaxUint8)
	for i := range p.inter {
		number(t, &p.inter[i], 0, math.MaxUint8)
	}
	number(t, &p.inters, 0, math.MaxInt64/2)
	for i := range p.param {
		number(t, &p.param[i], -1, maxParam)
	}
	number(t, &p.given, 0, maxParams+1)
	number(t, &p.subs, 0, math.MaxUint32)
	t.bytes(&p.str, maxString)
	t.flag(&p.tooLong)
	number(t, &p.lastStr, 0, math.MaxUint8)
	t.flag(&p.bell)
}

// walk passes the fields of the buffer to the tape t. The buffer belongs to the screen c.
func (b *buffer) walk(t *tape, c *Core) {
	number(t, &b.x, 0, int64(c.cols))
	number(t, &b.y, 0, int64(c.rows)-1)
	number(t, &b.bottom, 0, int64(c.rows)-1)
	number(t, &b.top, 0, int64(b.bottom))
	number(t, &b.saved.x, 0, maxSize)
	number(t, &b.saved.y, 0, maxSize)
	b.saved.pen.walk(t)
	number(t, &b.saved.charset, 0, math.MaxUint8)
	t.flag(&b.saved.origin)
	list(t, &b.keyboard, maxKeyboard, func(f *uint8) { number(t, f, 0, 31) })
	for _, rows := range []*[]*row{&b.rows, &b.above, &b.below} {
		list(t, rows, maxSize, func(r **row) { walkRow(t, r) })
	}
	t.check(len(b.rows) == c.rows)
	for _, r := range b.rows {
		t.check(r.cols == c.cols && r.sound())
	}
}

func walkRow(t *tape, p **row) {
	if t.in != nil {
		*p = newRow(minCols)
	}
	(*p).walk(t)
}

// walk passes the fields of the row to the tape t. It leaves out the cells at the end of the row
// that are equal to r.rest.
func (r *row) walk(t *tape) {
	number(t, &r.cols, minCols, maxSize)
	t.flag(&r.wrapped)
	cells := r.cells
	for n := len(cells); t.in == nil && n > 0 && cells[n-1] == r.rest; n-- {
		cells = cells[:n-1]
	}
	t.cells(&cells)
	if t.in != nil {
		r.cells = cells
	}
	t.char(&r.rest.ch)
	r.rest.walk(t)
	t.cells(&r.beforeNarrowing)
	t.check(len(r.cells) <= r.cols && r.rest.ch&(wide|filler) == 0 &&
		(r.beforeNarrowing == nil || len(r.beforeNarrowing) > r.cols))
}

// sound reports whether each wide character in the row has both halves.
func (r *row) sound() bool {
	after := false
	for i := range r.cells {
		if (r.cells[i].ch&filler != 0) != after {
			return false
		}
		after = r.cells[i].ch&wide != 0
	}
	return !after
}

func (s *style) walk(t *tape) {
	number(t, &s.fg, 0, math.MaxUint32)
	number(t, &s.bg, 0, math.MaxUint32)
	number(t, &s.attr, 0, math.MaxUint16)
	number(t, &s.link, 0, maxLinks)
}

// maxLine is the largest size of a line in the history, in bytes. The longest line is a row full of
// clusters.
const maxLine = maxSize * (maxCluster + utf8.UTFMax)

// mostChunks is more than the number of chunks in any history, because all chunks except the last
// are full.
const mostChunks = historyLines/chunkLines + historyBytes/historyChunk + 8

func (h *history) walk(t *tape) {
	list(t, &h.chunks, mostChunks, func(ch *chunk) {
		t.bytes(&ch.text, historyChunk+maxLine)
		last := uint32(0)
		list(t, &ch.lines, chunkLines, func(l *line) {
			number(t, &l.end, int64(last), int64(len(ch.text)))
			number(t, &l.times, 1, chunkLines)
			last = l.end
			if t.in != nil {
				ch.count += int(l.times)
			}
		})
		t.check(int(last) == len(ch.text) && ch.count <= chunkLines)
	})
	if t.in != nil {
		for i := range h.chunks {
			h.lines += h.chunks[i].count
			h.bytes += len(h.chunks[i].text)
		}
	}
	t.check(h.bytes <= historyBytes+historyChunk+maxLine && h.lines < historyLines+chunkLines)
}
