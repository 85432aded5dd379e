package proxy

import (
	"bufio"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// header is one header of a request.
type header struct{ name, value string }

func (h header) is(name string) bool { return strings.EqualFold(h.name, name) }

// headers are the headers of one request.
type headers struct {
	list   []header
	oldest bool // the request uses HTTP/1.0, which has no chunks
}

// read reads the headers and the empty line after them. *left is the number of bytes that the head of
// the request may still have; read subtracts the size of each line from this number. read returns an
// error if a header is malformed, or if the head is too large.
func (h *headers) read(r *bufio.Reader, left *int) error {
	for {
		line, err := readLine(r, left)
		if err != nil {
			return err
		}
		if line == "" {
			return nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) { // this also refuses names with blanks, and lines that continue the line before
			return errors.New("a header of the request has no name")
		}
		if h.list = append(h.list, header{name, strings.Trim(value, " \t")}); len(h.list) > maxHeaders {
			return errors.New("the request has too many headers")
		}
	}
}

// values returns the values of all headers with this name.
func (h *headers) values(name string) (out []string) {
	for _, one := range h.list {
		if one.is(name) {
			out = append(out, one.value)
		}
	}
	return out
}

// body returns the length of the body. It refuses a request whose headers leave the length in doubt, because
// the proxy and the server could then read two different lengths.
func (h *headers) body() (body, error) {
	lengths, codings := h.values("Content-Length"), h.values("Transfer-Encoding")
	if len(lengths)+len(codings) > 1 || len(h.values("Host")) > 1 {
		return body{}, errors.New("the request gives its host or the length of its body twice")
	}
	if len(codings) == 1 {
		if h.oldest || !strings.EqualFold(codings[0], "chunked") {
			return body{}, errors.New("the request has an encoding that is not chunked")
		}
		return body{chunked: true}, nil
	}
	if len(lengths) == 0 {
		return body{}, nil
	}
	n, err := strconv.ParseInt(lengths[0], 10, 64)
	if err != nil || strings.Trim(lengths[0], "0123456789") != "" {
		return body{}, errors.New("the length of the request's body is not a number")
	}
	return body{length: n}, nil
}

// betweenTwo lists the headers that concern only a client and its proxy. The proxy itself writes
// Host and Connection.
var betweenTwo = []string{"Host", "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Authenticate", "TE", "Trailer", "Upgrade"}

// head returns the head of the request to the server. `first` is the request line. The head asks the server
// to close the connection after its answer, because each connection carries only one request.
func (h *headers) head(first, host string) []byte {
	drop := slices.Clone(betweenTwo)
	for _, value := range h.values("Connection") {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); !strings.EqualFold(name, "Content-Length") &&
				!strings.EqualFold(name, "Transfer-Encoding") {
				drop = append(drop, name)
			}
		}
	}
	var out strings.Builder
	out.WriteString(first + "\r\nHost: " + strings.TrimSuffix(host, ":80") + "\r\n")
	for _, one := range h.list {
		if !slices.ContainsFunc(drop, one.is) {
			out.WriteString(one.name + ": " + one.value + "\r\n")
		}
	}
	out.WriteString("Connection: close\r\n\r\n")
	return []byte(out.String())
}
