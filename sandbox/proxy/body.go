package proxy

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// copyTo copies the body b from r to w, and reads nothing after its end. It omits the extensions and
// trailers of a body in chunks. copyTo returns an error if the body is incomplete or malformed, or if
// it cannot be written.
func (b body) copyTo(w io.Writer, r *bufio.Reader) error {
	if !b.chunked {
		_, err := io.CopyN(w, r, b.length)
		return err
	}
	for {
		size, err := readChunkSize(r)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		if _, err := io.WriteString(w, strconv.FormatInt(size, 16)+"\r\n"); err != nil {
			return err
		}
		if _, err := io.CopyN(w, r, size); err != nil {
			return err
		}
		var end [2]byte
		if _, err := io.ReadFull(r, end[:]); err != nil || end != [2]byte{'\r', '\n'} {
			return errors.Join(err, errors.New("a chunk does not end where it says"))
		}
		if _, err := io.WriteString(w, "\r\n"); err != nil {
			return err
		}
	}
	var trailers headers // the trailers, headers after the last chunk, are read but not passed on
	left := maxHead
	if err := trailers.read(r, &left); err != nil {
		return err
	}
	_, err := io.WriteString(w, "0\r\n\r\n")
	return err
}

// readChunkSize returns the size of the next chunk, in bytes. It ignores the chunk's extensions.
func readChunkSize(r *bufio.Reader) (int64, error) {
	left := maxLine
	line, err := readLine(r, &left)
	if err != nil {
		return 0, err
	}
	digits, _, _ := strings.Cut(line, ";")
	size, err := strconv.ParseInt(digits, 16, 64)
	if err != nil || strings.Trim(digits, "0123456789abcdefABCDEF") != "" {
		return 0, errors.New("the size of a chunk is not a number")
	}
	return size, nil
}
