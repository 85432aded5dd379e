package verb

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// JSON returns an encoder for the results of verbs. Its output contains no character that a terminal obeys, because
// an arm may have written the texts. A program reads the same texts.
func JSON(w io.Writer) *json.Encoder { return json.NewEncoder(escaper{w}) }

// escaper writes JSON, and escapes the control characters that encoding/json leaves as they are.
type escaper struct{ to io.Writer }

// Write writes a whole JSON document. An encoder calls it once for each value.
func (e escaper) Write(document []byte) (int, error) {
	out := make([]byte, 0, len(document))
	for rest := document; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1: // not UTF-8
			out = utf8.AppendRune(out, utf8.RuneError)
		case r >= 0x7f && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	if _, err := e.to.Write(out); err != nil {
		return 0, err
	}
	return len(document), nil
}
