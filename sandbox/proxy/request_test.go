package proxy

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func parse(text string) (request, error) {
	return readRequest(bufio.NewReaderSize(strings.NewReader(text), maxLine))
}

func TestRequestsThatAreUnderstood(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]request{
		"CONNECT api.example:443 HTTP/1.1\r\nHost: other\r\n\r\n": {host: "api.example", port: 443, connect: true},
		"CONNECT API.Example.:443 HTTP/1.0\r\n\r\n":               {host: "api.example", port: 443, connect: true},
		"CONNECT [::1]:443 HTTP/1.1\r\n\r\n":                      {host: "::1", port: 443, connect: true},
		"CONNECT [::ffff:10.0.0.1]:443 HTTP/1.1\r\n\r\n":          {host: "10.0.0.1", port: 443, connect: true},
		"CONNECT [::FFFF:7f00:1]:443 HTTP/1.1\r\n\r\n":            {host: "127.0.0.1", port: 443, connect: true},
		"GET http://a.example HTTP/1.1\r\nHost: b\r\n\r\n": {host: "a.example", port: 80,
			head: []byte("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")},
		"GET HTTP://a.example:81?q HTTP/1.1\r\nX: 1\r\n\r\n": {host: "a.example", port: 81,
			head: []byte("GET /?q HTTP/1.1\r\nHost: a.example:81\r\nX: 1\r\nConnection: close\r\n\r\n")},
		"POST http://a.example/p HTTP/1.1\r\nContent-Length: 2\r\nConnection: X, content-length\r\n" +
			"X: 1\r\nProxy-Authorization: k\r\n\r\n": {host: "a.example", port: 80, body: body{length: 2},
			head: []byte("POST /p HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")},
	} {
		got, err := parse(text)
		if err != nil || got.host != want.host || got.port != want.port || got.connect != want.connect ||
			got.body != want.body || !bytes.Equal(got.head, want.head) {
			t.Errorf("%q is %+v with head %q, %v; want %+v with head %q", text, got, got.head, err, want, want.head)
		}
	}
}

// wrongRequests contains requests that the proxy must refuse, by what is wrong with them.
var wrongRequests = map[string]string{
	"no version":                   "GET http://a.example/\r\n\r\n",
	"HTTP/2":                       "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"a path alone":                 "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
	"another scheme":               "GET https://a.example/ HTTP/1.1\r\n\r\n",
	"a file":                       "GET file:///etc/passwd HTTP/1.1\r\n\r\n",
	"two blanks":                   "GET  http://a.example/ HTTP/1.1\r\n\r\n",
	"a blank in the URL":           "GET http://a.example/ x HTTP/1.1\r\n\r\n",
	"a user in the URL":            "GET http://a.example@10.0.0.1/ HTTP/1.1\r\n\r\n",
	"a backslash in the host":      "GET http://a.example\\@b/ HTTP/1.1\r\n\r\n",
	"a percent in the host":        "GET http://a%2eexample/ HTTP/1.1\r\n\r\n",
	"a part after #":               "GET http://a.example/#b HTTP/1.1\r\n\r\n",
	"no host":                      "GET http:///x HTTP/1.1\r\n\r\n",
	"an empty port":                "GET http://a.example:/ HTTP/1.1\r\n\r\n",
	"a tunnel without a port":      "CONNECT a.example HTTP/1.1\r\n\r\n",
	"a tunnel to port 0":           "CONNECT a.example:0 HTTP/1.1\r\n\r\n",
	"a tunnel to a large port":     "CONNECT a.example:65979 HTTP/1.1\r\n\r\n",
	"a port with a sign":           "CONNECT a.example:+443 HTTP/1.1\r\n\r\n",
	"a tunnel to a URL":            "CONNECT http://a.example:443/ HTTP/1.1\r\n\r\n",
	"two ports":                    "CONNECT a.example:443:80 HTTP/1.1\r\n\r\n",
	"IPv6 without brackets":        "CONNECT ::1:443 HTTP/1.1\r\n\r\n",
	"IPv6 with a zone":             "CONNECT [fe80::1%lo]:443 HTTP/1.1\r\n\r\n",
	"IPv4 in brackets":             "CONNECT [127.0.0.1]:443 HTTP/1.1\r\n\r\n",
	"a short IPv4 address":         "CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
	"an IPv4 address as a number":  "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n",
	"an IPv4 address in hex":       "CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
	"an IPv4 address in octal":     "CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n",
	"letters that look alike":      "CONNECT \u0430.example:443 HTTP/1.1\r\n\r\n",
	"an empty label":               "CONNECT a..example:443 HTTP/1.1\r\n\r\n",
	"a long name":                  "CONNECT " + strings.Repeat("a.", 130) + "example:443 HTTP/1.1\r\n\r\n",
	"line ends without CR":         "CONNECT a.example:443 HTTP/1.1\nHost: b\n\n",
	"a CR within a header":         "CONNECT a.example:443 HTTP/1.1\r\nX: a\rHost: b\r\n\r\n",
	"a NUL within a header":        "CONNECT a.example:443 HTTP/1.1\r\nX: a\x00\r\n\r\n",
	"a header over two lines":      "GET http://a.example/ HTTP/1.1\r\nX: a\r\n Host: b\r\n\r\n",
	"a blank before the colon":     "GET http://a.example/ HTTP/1.1\r\nContent-Length : 3\r\n\r\n",
	"a header without a colon":     "GET http://a.example/ HTTP/1.1\r\nX\r\n\r\n",
	"two hosts":                    "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nhost: b\r\n\r\n",
	"two lengths":                  "POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
	"a list of lengths":            "POST http://a.example/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\n",
	"a negative length":            "POST http://a.example/ HTTP/1.1\r\nContent-Length: -3\r\n\r\n",
	"a length with a sign":         "POST http://a.example/ HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
	"a length that is too large":   "POST http://a.example/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
	"chunks within another coding": "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	"a coding that looks alike":    "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
	"chunks in HTTP/1.0":           "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
	"a long line":                  "GET http://a.example/" + strings.Repeat("a", maxLine) + " HTTP/1.1\r\n\r\n",
	"a long head": "GET http://a.example/ HTTP/1.1\r\n" + strings.Repeat("X: "+strings.Repeat("a", 1000)+"\r\n", 70) +
		"\r\n",
	"many headers": "GET http://a.example/ HTTP/1.1\r\n" + strings.Repeat("X: a\r\n", maxHeaders+1) + "\r\n",
	"half a head":  "CONNECT a.example:443 HTTP/1.1\r\nX: a",
	"a length and chunks": "POST http://a.example/ HTTP/1.1\r\nContent-Length: 3\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n",
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	for what, text := range wrongRequests {
		if q, err := parse(text); err == nil {
			t.Errorf("%s: the request is %+v with head %q; want an error", what, q, q.head)
		}
	}
}

func TestABodyIsCopiedToItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		body    body
		in, out string
	}{
		{"a length", body{length: 3}, "abcGET", "abc"},
		{"no body", body{}, "GET", ""},
		{"chunks", body{chunked: true}, "3;x=\"y\"\r\nabc\r\n0010\r\n0123456789abcdef\r\n0\r\nT: x\r\n\r\nGET",
			"3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"},
	} {
		r := bufio.NewReaderSize(strings.NewReader(c.in), maxLine)
		var out bytes.Buffer
		err := c.body.copyTo(&out, r)
		if rest, _ := io.ReadAll(r); err != nil || out.String() != c.out || string(rest) != "GET" {
			t.Errorf("%s: %q, the rest is %q, %v; want %q", c.what, out.String(), rest, err, c.out)
		}
	}
	for _, wrong := range []string{"x\r\n", "-1\r\n", "3\nabc", "3\r\nabcd\r\n", "ffffffffffffffff\r\n", " 3\r\nabc\r\n",
		"0\r\nT\r\n\r\n", "3\r\nab", ""} {
		r := bufio.NewReaderSize(strings.NewReader(wrong), maxLine)
		if err := (body{chunked: true}).copyTo(io.Discard, r); err == nil {
			t.Errorf("the chunks %q are copied; want an error", wrong)
		}
	}
}

// FuzzRequest checks that the proxy parses a request in the same way as another program does. The
// server must receive exactly one request.
func FuzzRequest(f *testing.F) {
	for _, text := range wrongRequests {
		f.Add([]byte(text))
	}
	f.Add([]byte("CONNECT a.example:443 HTTP/1.1\r\n\r\n"))
	f.Add([]byte("POST http://[2001:db8::1]:8080/a?b HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"1\r\na\r\n0\r\n\r\n"))
	f.Add([]byte("POST http://a.example/ HTTP/1.1\r\nConnection: x\r\nX: 1\r\nContent-Length: 3\r\n\r\nabc" +
		"GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(raw), maxLine)
		q, err := readRequest(r)
		if err != nil {
			return
		}
		if host, port, err := parseAuthority(authority(q.host, q.port), 0); err != nil || host != q.host || port != q.port {
			t.Fatalf("%q port %d is read again as %q port %d, %v", q.host, q.port, host, port, err)
		}
		if q.connect {
			return
		}
		var sent bytes.Buffer
		sent.Write(q.head)
		if err := q.body.copyTo(&sent, r); err != nil {
			return
		}
		again := bufio.NewReader(&sent)
		read, err := http.ReadRequest(again)
		if err != nil {
			if strings.Contains(err.Error(), "invalid URI") || strings.Contains(err.Error(), "parse ") {
				return // only the server can judge this path
			}
			t.Fatalf("the server cannot read %q: %v", q.head, err)
		}
		if want := strings.TrimSuffix(authority(q.host, q.port), ":80"); read.Host != want || !read.Close {
			t.Fatalf("the server reads the host %q, close %t; want %q", read.Host, read.Close, want)
		}
		if _, err := io.Copy(io.Discard, read.Body); err != nil {
			t.Fatalf("the server cannot read the body: %v", err)
		}
		if rest, _ := io.ReadAll(again); len(rest) > 0 {
			t.Fatalf("the server gets more than one request: %s", strconv.Quote(string(rest)))
		}
	})
}
