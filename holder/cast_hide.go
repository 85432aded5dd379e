package holder

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// source is output that is read from an offset on.
type source interface {
	io.Reader
	Offset() int64
}

// Cover returns a text of the same length in bytes that reveals nothing: the path
// /coleo-coleo-…. The length stays the same because terminals place the following text by
// it.
func Cover(text string) string {
	if text == "" {
		return ""
	}
	const word = "coleo-"
	return "/" + strings.Repeat(word, len(text)/len(word)+1)[:len(text)-1]
}

// hide returns the output of r up to an offset, with texts covered.
func hide(r *Reader, end int64, texts []string) source {
	if len(texts) == 0 {
		return r
	}
	return &covered{r: r, texts: texts, next: r.Offset(), end: end}
}

// covered is output in which texts are covered. The first Read reads all of it.
type covered struct {
	r         *Reader
	texts     []string
	next, end int64
	rest      []byte // nil: not read yet
}

// Offset returns the offset of the next byte.
func (c *covered) Offset() int64 { return c.next }

// Read implements io.Reader.
func (c *covered) Read(p []byte) (int, error) {
	if c.rest == nil {
		all := make([]byte, c.end-c.next)
		if _, err := io.ReadFull(c.r, all); err != nil {
			return 0, fmt.Errorf("read what is to be covered: %w", err)
		}
		for _, text := range c.texts {
			all = bytes.ReplaceAll(all, []byte(text), []byte(Cover(text)))
		}
		c.rest = all
	}
	n := copy(p, c.rest)
	c.next, c.rest = c.next+int64(n), c.rest[n:]
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
