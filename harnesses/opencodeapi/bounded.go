package opencodeapi

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// The code in this file limits what Coleo keeps of a server. The agent CLI, or a plugin of the work folder, can make
// the server print and answer anything.
const (
	// mostSeen is how many bytes of old output Coleo keeps while it searches for the server's address in new
	// output.
	mostSeen = 4 << 10
	// mostOpen is the largest number of open requests, and of running calls, that a session keeps.
	mostOpen = 200
	// mostSubject is the largest size in bytes of a text in a dialog. Nobody reads a longer text in a dialog.
	mostSubject = 16 << 10
	// mostQuestions is the largest size in bytes of all questions of one request.
	mostQuestions = 64 << 10
)

// listeningLine matches the server's address with the character after it. Coleo sends the password and the prompts
// to that address, so it must be an address of this machine.
var listeningLine = regexp.MustCompile(
	`server listening on (http://(?:127(?:\.[0-9]{1,3}){3}|0\.0\.0\.0):[0-9]{1,5})[^0-9]`)

// output is the newest output of a program that has not reported the server's address yet.
type output struct{ text []byte }

// add adds a piece of output, and returns the server's address if the output now contains it. It forgets old output.
func (o *output) add(piece []byte) (address string) {
	o.text = append(o.text, piece...)
	if m := listeningLine.FindSubmatch(o.text); m != nil {
		return string(m[1])
	}
	o.text = o.text[max(0, len(o.text)-mostSeen):]
	return ""
}

func (o *output) lastLine() string {
	lines := strings.Split(strings.TrimSpace(string(o.text)), "\n")
	return firstLine([]byte(lines[len(lines)-1]))
}

// readEvent reads a line. It returns an error if the line has more than `most` bytes.
func readEvent(from *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > most {
			return nil, fmt.Errorf("one of them has more than %d bytes", most)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// shortText returns the beginning of a text, and whether the text is longer than that.
func shortText(text string) (short string, isCut bool) {
	if len(text) <= mostSubject {
		return text, false
	}
	return strings.ToValidUTF8(text[:mostSubject], ""), true
}

// size returns the size of all texts of the questions, in bytes.
func (q questionBody) size() int {
	n := 0
	for _, x := range q.Questions {
		n += len(x.Question) + 1
		for _, o := range x.Options {
			n += len(o.Label) + 1
		}
	}
	return n
}
