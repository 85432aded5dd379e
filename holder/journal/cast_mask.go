package journal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// source is a reader of output that also returns the offset of the next byte.
type source interface {
	io.Reader
	Offset() int64
}

// Mask returns a replacement that reveals only the length of the text. It has the form of a path:
// /coleo-coleo-…. It has as many bytes as the text, so everything after it stays in its place on
// the screen.
func Mask(text string) string {
	if text == "" {
		return ""
	}
	const word = "coleo-"
	return "/" + strings.Repeat(word, len(text)/len(word)+1)[:len(text)-1]
}

// MaskPath replaces each occurrence of a path in the output with a mask of the same length. A
// program may cut off a path at the end of a row. So for /home/ann/work, MaskPath also replaces
// each beginning of this path that contains at least /home/ann, the first two names.
func MaskPath(output []byte, path string) []byte {
	begin := []byte(beginOf(path))
	if len(begin) == 0 {
		return output
	}
	var out []byte
	for {
		at := bytes.Index(output, begin)
		if at < 0 {
			return append(out, output...)
		}
		n := len(begin)
		for n < len(path) && at+n < len(output) && output[at+n] == path[n] {
			n++
		}
		out = append(append(out, output[:at]...), Mask(path[:n])...)
		output = output[at+n:]
	}
}

// beginOf returns the first two names of a path, for example "/home/ann" of "/home/ann/work".
func beginOf(path string) string {
	for i, names := 1, 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		if names++; names == 2 {
			return path[:i]
		}
	}
	return path
}

// masked returns the output of r up to the given offset, with a mask in place of each secret text.
func masked(r *Reader, endOffset int64, secretTexts []string) source {
	if len(secretTexts) == 0 {
		return r
	}
	return &maskedOutput{r: r, texts: secretTexts, next: r.Offset(), end: endOffset}
}

// maskedOutput is output in which masks replace some texts. The first Read reads all of the output
// into memory.
type maskedOutput struct {
	r         *Reader
	texts     []string
	next, end int64
	rest      []byte // output that Read has not returned yet; nil before the first Read
}

// Offset returns the offset of the next byte.
func (m *maskedOutput) Offset() int64 { return m.next }

// Read implements io.Reader.
func (m *maskedOutput) Read(p []byte) (int, error) {
	if m.rest == nil {
		all := make([]byte, m.end-m.next)
		if _, err := io.ReadFull(m.r, all); err != nil {
			return 0, fmt.Errorf("read what is to be covered: %w", err)
		}
		for _, text := range m.texts {
			all = MaskPath(all, text)
		}
		m.rest = all
	}
	n := copy(p, m.rest)
	m.next, m.rest = m.next+int64(n), m.rest[n:]
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
