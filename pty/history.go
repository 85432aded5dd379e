package pty

// Bounds of the text scrolled off the top. Lines of agent CLIs are 20 to 120
// bytes long, so the bytes only bind when a program writes very long ones.
const (
	historyLines = 10_000
	historyBytes = 8 << 20
	historyChunk = 32 << 10 // bytes that are forgotten at a time, or
	chunkLines   = 500      // lines, when they are short
)

// history is text by the line, in chunks, so that keeping a line costs its
// bytes and nothing else.
type history struct {
	chunks []chunk
	lines  int
	bytes  int
}

type chunk struct {
	text []byte
	ends []uint32 // where each line ends in text
}

// push adds the line that write appends to its argument.
func (h *history) push(write func([]byte) []byte) {
	if n := len(h.chunks); n == 0 || h.chunks[n-1].full() {
		h.chunks = append(h.chunks, chunk{})
	}
	last := &h.chunks[len(h.chunks)-1]
	before := len(last.text)
	last.text = write(last.text)
	last.ends = append(last.ends, uint32(len(last.text)))
	h.lines++
	h.bytes += len(last.text) - before
	for len(h.chunks) > 1 && (h.bytes > historyBytes || h.lines-len(h.chunks[0].ends) >= historyLines) {
		h.lines -= len(h.chunks[0].ends)
		h.bytes -= len(h.chunks[0].text)
		h.chunks = append(h.chunks[:0], h.chunks[1:]...)
	}
}

// last is the last n lines, oldest first.
func (h *history) last(n int) []string {
	n = min(n, h.lines, historyLines)
	if n <= 0 {
		return nil
	}
	out := make([]string, n)
	for c := len(h.chunks) - 1; c >= 0; c-- {
		ch := &h.chunks[c]
		for i := len(ch.ends) - 1; i >= 0; i-- {
			n--
			out[n] = ch.line(i)
			if n == 0 {
				return out
			}
		}
	}
	return out
}

func (ch *chunk) full() bool {
	return len(ch.text) >= historyChunk || len(ch.ends) >= chunkLines
}

func (ch *chunk) line(i int) string {
	return string(ch.text[ch.start(i):ch.ends[i]])
}

func (ch *chunk) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return ch.ends[i-1]
}

// pop takes the last line away and returns it.
func (h *history) pop() (string, bool) {
	for n := len(h.chunks); n > 0; n = len(h.chunks) {
		last := &h.chunks[n-1]
		i := len(last.ends) - 1
		if i < 0 {
			h.chunks = h.chunks[:n-1]
			continue
		}
		s := last.line(i)
		last.text, last.ends = last.text[:last.start(i)], last.ends[:i]
		h.lines--
		h.bytes -= len(s)
		return s, true
	}
	return "", false
}

func (h *history) clear() {
	*h = history{}
}
