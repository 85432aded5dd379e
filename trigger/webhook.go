package trigger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"coleo.dev"
	"coleo.dev/printable"
)

const (
	// MaxBody is the largest body of a request to a webhook, in bytes.
	MaxBody = 64 << 10
	// maxAge is the largest age of a valid request. Somebody who has recorded an older request
	// cannot send it again, even after Coleo has forgotten the request's id.
	maxAge = 5 * time.Minute
	// maxAhead is how far the sender's clock may be ahead of Coleo's clock.
	maxAhead = time.Minute
	// maxField is the largest size of a request's field in bytes, after Quote has escaped the field. A prompt has
	// room for several fields of this size.
	maxField = 16 << 10
)

// These are the names of the headers of a request to a webhook.
const (
	HeaderTime      = "Coleo-Timestamp" // the time of the request in seconds since 1970, in decimal digits
	HeaderID        = "Coleo-Id"        // different for each request
	HeaderSignature = "Coleo-Signature" // "sha256=" and the signature in hexadecimal digits; see Sign
)

// signaturePrefix names the algorithm of a signature.
const signaturePrefix = "sha256="

// These patterns match the valid values of the headers. The signed text is "TIMESTAMP.ID.BODY", so a header value
// must not contain a dot. With a dot in a value, two different requests could have the same signed text.
var (
	timeForm = regexp.MustCompile(`^[0-9]{1,12}$`)
	idForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
)

// Delivery is a request to a webhook.
type Delivery struct {
	Timestamp string
	ID        string
	Signature string
	Body      []byte
}

// Sign returns the signature of a delivery: the HMAC-SHA256 of "TIMESTAMP.ID.BODY".
func Sign(secret []byte, d Delivery) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(mac, "%s.%s.", d.Timestamp, d.ID) // ignore the error, because writing to a hash never returns one
	_, _ = mac.Write(d.Body)
	return signaturePrefix + hex.EncodeToString(mac.Sum(nil))
}

// Verify checks that a delivery is genuine and recent. It returns EInvalid if the body is too
// large, and EUnauthorized if a header has the wrong form or the signature is wrong. It returns
// EStale if the time of the request is too old or too far ahead. Verify compares the signatures in
// constant time. The caller must check that the id is new.
func Verify(secret []byte, d Delivery, now time.Time) error {
	if len(d.Body) > MaxBody {
		return coleo.Errorf(coleo.EInvalid, "the body has more than %d KiB: nothing was started", MaxBody>>10)
	}
	if !timeForm.MatchString(d.Timestamp) || !idForm.MatchString(d.ID) {
		return coleo.Errorf(coleo.EUnauthorized, "%s must be seconds since 1970, and %s 1 to 64 letters, digits, '_' "+
			"or '-': nothing was started", HeaderTime, HeaderID)
	}
	if len(secret) == 0 || !hmac.Equal([]byte(Sign(secret, d)), []byte(d.Signature)) {
		return coleo.Errorf(coleo.EUnauthorized, "there is no such webhook, or the signature is wrong: nothing was started")
	}
	seconds, err := strconv.ParseInt(d.Timestamp, 10, 64)
	if err != nil {
		return coleo.Errorf(coleo.EUnauthorized, "%s is not a number: nothing was started", HeaderTime)
	}
	switch age := now.Sub(time.Unix(seconds, 0)); {
	case age > maxAge:
		return coleo.Errorf(coleo.EStale, "the request is older than %s: nothing "+
			"was started; sign it again with the present time", maxAge)
	case age < -maxAhead:
		return coleo.Errorf(coleo.EStale, "the time of the request is more than %s in the future: nothing was started; "+
			"set the clock of its sender", maxAhead)
	}
	return nil
}

// Fields returns the fields of a request body as values for the arguments with the given names.
// Each value is a JSON string literal: see Quote. If a field is not a string, Fields quotes its
// JSON. An empty body has no fields. Fields returns EInvalid if the body is not a JSON object, a
// name is unknown or a field is too large.
func Fields(body []byte, names []string) (map[string]string, error) {
	out := map[string]string{}
	if len(bytes.TrimSpace(body)) == 0 {
		return out, nil
	}
	var fields map[string]json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(body))
	err := decoder.Decode(&fields)
	if err == nil && decoder.Decode(new(any)) != io.EOF {
		err = coleo.Errorf(coleo.EInvalid, "more follows after it")
	}
	if err != nil || fields == nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the body is not one JSON object: nothing was started")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			return nil, coleo.Errorf(coleo.EInvalid, "the webhook takes no field %s; it takes %s: nothing was started",
				Quote(shortened(name)), listOf(names))
		}
		if out[name], err = quoted(fields[name]); err != nil {
			return nil, err
		}
		if len(out[name]) > maxField {
			return nil, coleo.Errorf(coleo.EInvalid, "the field %s has more than %d KiB: nothing was started", name,
				maxField>>10)
		}
	}
	return out, nil
}

// quoted returns a JSON value as a JSON string literal: see Quote.
func quoted(value json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(value, &text) == nil && value[0] == '"' {
		return Quote(text), nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, value)
	return Quote(compact.String()), err
}

// listOf returns the names of the fields that a webhook accepts, as text for people.
func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// shortened returns the beginning of a name that comes from a stranger.
func shortened(name string) string {
	const most = 40 // characters
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

// Quote returns a text as a JSON string literal in one line. It escapes each character that a terminal or an
// agent CLI could treat as more than text. These are control characters, invisible and misleading characters,
// the signs of markup, and "@". The "@" is among them because some agent CLIs read the file whose name
// follows it.
func Quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case strings.ContainsRune("@<>&`", r) || r != ' ' && (!unicode.IsPrint(r) || !printable.IsVisible(r)):
			escape(&out, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// escape writes a character as its UTF-16 code units, in the form of a JSON escape.
func escape(out *strings.Builder, r rune) {
	units := utf16.AppendRune(nil, r)
	for _, unit := range units {
		fmt.Fprintf(out, `\u%04x`, unit)
	}
}

// Bucket limits how often something happens. Take removes one item, and the bucket fills up again over time. The
// zero Bucket is full.
type Bucket struct {
	used float64
	at   time.Time
}

// perMinute is the largest number of runs that a webhook can begin in a minute. All of them can
// begin at the same time.
const perMinute = 10

// Take returns the bucket with one item less, or false if the bucket is empty.
func (b Bucket) Take(now time.Time) (Bucket, bool) {
	if passed := now.Sub(b.at); !b.at.IsZero() && passed > 0 {
		b.used = max(0, b.used-passed.Minutes()*perMinute)
	}
	b.at = now
	if b.used+1 > perMinute {
		return b, false
	}
	b.used++
	return b, true
}
