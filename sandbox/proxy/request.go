package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"

	"coleo.dev"
)

// These bounds keep a program in the sandbox from filling the proxy's memory. Real agent CLIs send
// heads of less than 8 KiB.
const (
	maxLine    = 16 << 10 // size of one line with its end, in bytes
	maxHead    = 64 << 10 // size of the request line and all headers, in bytes
	maxHeaders = 200
)

// request is the parsed head of a request to the proxy.
type request struct {
	host    string // a name in lower case, or an IP address
	port    uint16
	connect bool   // the client wants a tunnel
	head    []byte // the head that the proxy sends to the server; nil for a tunnel
	body    body
}

// body describes how long the body of a request is.
type body struct {
	length  int64 // in bytes
	chunked bool  // the length is unknown, because the body consists of chunks
}

// readRequest reads the head of a request. The reader's buffer must have maxLine bytes. Every error
// except io.EOF describes for the user what is wrong with the request.
func readRequest(r *bufio.Reader) (request, error) {
	left := maxHead
	line, err := readLine(r, &left)
	if err != nil {
		return request{}, err
	}
	method, rest, _ := strings.Cut(line, " ")
	target, version, ok := strings.Cut(rest, " ")
	if !ok || !isToken(method) || !isVisible(target) || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return request{}, errors.New("the request line is not one of HTTP/1.1")
	}
	q := request{connect: method == "CONNECT"}
	path := ""
	if q.connect {
		q.host, q.port, err = parseAuthority(target, 0)
	} else {
		q.host, q.port, path, err = parseURL(target)
	}
	if err != nil {
		return request{}, err
	}
	h := headers{oldest: version == "HTTP/1.0"}
	if err := h.read(r, &left); err != nil {
		return request{}, err
	}
	if q.body, err = h.body(); err != nil || q.connect {
		return q, err
	}
	q.head = h.head(method+" "+path+" "+version, authority(q.host, q.port))
	return q, nil
}

// readLine returns the next line without its end. *left is the number of bytes that the head of the
// request may still have; readLine subtracts the line's size from this number.
func readLine(r *bufio.Reader, left *int) (string, error) {
	raw, err := r.ReadSlice('\n')
	*left -= len(raw)
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || *left < 0:
		return "", errors.New("the head of the request is too long")
	case errors.Is(err, io.EOF) && len(raw) > 0:
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	}
	text, ok := bytes.CutSuffix(raw, []byte("\r\n"))
	if !ok || bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return "", errors.New("a line of the request has a control character")
	}
	return string(text), nil
}

// parseURL returns the parts of a URL with the scheme http.
func parseURL(text string) (host string, port uint16, path string, err error) {
	const scheme = "http://"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", 0, "", errors.New("the proxy takes CONNECT, and URLs that begin with http://")
	}
	text = text[len(scheme):]
	end := strings.IndexAny(text, "/?#")
	if end < 0 {
		end = len(text)
	}
	if path = text[end:]; !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.Contains(path, "#") {
		return "", 0, "", errors.New("the URL has a part after #")
	}
	const usual = 80
	host, port, err = parseAuthority(text[:end], usual)
	return host, port, path, err
}

// parseAuthority splits HOST:PORT. If the text has no port, it returns the port `usual`. If `usual` is 0, a
// missing port is an error.
func parseAuthority(text string, usual uint16) (string, uint16, error) {
	host, port := text, ""
	if at := strings.LastIndexByte(text, ':'); at >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:at], text[at+1:]
		if port == "" {
			return "", 0, errors.New("the port is empty")
		}
	}
	number := uint64(usual)
	if port != "" {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil || port[0] == '+' {
			return "", 0, errors.New("the port is not a number up to 65535")
		}
	}
	if number == 0 {
		return "", 0, errors.New("the port is missing")
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !addr.Is6() || !strings.HasSuffix(inner, "]") || addr.Zone() != "" {
			return "", 0, errors.New("the text in brackets is not an IPv6 address")
		}
		return addr.Unmap().String(), uint16(number), nil
	}
	host, err := coleo.HostName(host)
	return host, uint16(number), err
}

// isVisible reports whether a text consists of printable ASCII characters without blanks.
func isVisible(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// isToken reports whether a text is a token of HTTP (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return isVisible(text) && !strings.ContainsAny(text, `"(),/:;<=>?@[\]{}`)
}
