package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
)

// Unpack returns a reader of the given data. If the data are compressed with gzip, the new reader
// decompresses them.
func Unpack(in io.Reader) (io.Reader, error) {
	r := bufio.NewReader(in)
	if begin, _ := r.Peek(2); !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	return gzip.NewReader(r)
}
