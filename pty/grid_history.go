package pty

// These are the limits for the text that has scrolled off the top. Lines of agent CLIs have 20 to
// 120 bytes. So only a program that writes very long lines reaches the limit in bytes.
const (
	historyLines = 10_000
	historyBytes = 8 << 20
	historyChunk = 32 << 10 // a chunk is full at this many bytes
	chunkLines   = 500      // a chunk is full at this many lines
)

// history stores lines of text in chunks, so that a line takes little more memory than its bytes.
// If the history is too large, it drops the oldest chunk.
type history struct {
	chunks []chunk
	lines  int
	bytes  int
}

type chunk struct {
	text  []byte
	lines []line
	count int // number of lines; a repeated line counts each time
}

// line describes one line of text in a chunk, and how many consecutive times it occurs.
type line struct {
	end   uint32 // end of the line in the chunk's text; the line begins where the previous line ends
	times uint32
}

// push appends a line to the history `count` times. If the history is too large, push drops the
// oldest chunks.
func (h *history) push(text []byte, count int) {
	for count = min(count, historyLines); count > 0; {
		if n := len(h.chunks); n == 0 || h.chunks[n-1].full() {
			h.chunks = append(h.chunks, chunk{})
		}
		last := &h.chunks[len(h.chunks)-1]
		n := min(count, chunkLines-last.count)
		h.bytes += last.push(text, n)
		h.lines += n
		count -= n
		for len(h.chunks) > 1 && (h.bytes > historyBytes || h.lines-h.chunks[0].count >= historyLines) {
			h.lines -= h.chunks[0].count
			h.bytes -= len(h.chunks[0].text)
			h.chunks = append(h.chunks[:0], h.chunks[1:]...)
		}
	}
}

// push appends a line to the chunk `count` times. It returns the number of bytes by which the chunk
// has grown.
func (ch *chunk) push(text []byte, count int) int {
	ch.count += count
	if i := len(ch.lines) - 1; i >= 0 && string(ch.text[ch.start(i):]) == string(text) {
		ch.lines[i].times += uint32(count)
		return 0
	}
	ch.text = append(ch.text, text...)
	ch.lines = append(ch.lines, line{uint32(len(ch.text)), uint32(count)})
	return len(text)
}

// last returns the last n lines, oldest first.
func (h *history) last(n int) []string {
	n = min(n, h.lines, historyLines)
	if n <= 0 {
		return nil
	}
	out := make([]string, n)
	for c := len(h.chunks) - 1; c >= 0; c-- {
		ch := &h.chunks[c]
		for i := len(ch.lines) - 1; i >= 0; i-- {
			text := ch.line(i)
			for range ch.lines[i].times {
				n--
				out[n] = text
				if n == 0 {
					return out
				}
			}
		}
	}
	return out
}

func (ch *chunk) full() bool {
	return len(ch.text) >= historyChunk || ch.count >= chunkLines
}

func (ch *chunk) line(i int) string {
	return string(ch.text[ch.start(i):ch.lines[i].end])
}

func (ch *chunk) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return ch.lines[i-1].end
}

// pop removes the last line and returns it. It returns false if the history is empty.
func (h *history) pop() (string, bool) {
	for n := len(h.chunks); n > 0; n = len(h.chunks) {
		last := &h.chunks[n-1]
		i := len(last.lines) - 1
		if i < 0 {
			h.chunks = h.chunks[:n-1]
			continue
		}
		s := last.line(i)
		h.lines--
		last.count--
		if last.lines[i].times--; last.lines[i].times == 0 {
			last.text, last.lines = last.text[:last.start(i)], last.lines[:i]
			h.bytes -= len(s)
		}
		return s, true
	}
	return "", false
}

func (h *history) clear() {
	*h = history{}
}
