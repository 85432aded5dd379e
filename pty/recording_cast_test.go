package pty

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestReadCast(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Cast
	}{
		{"version 2", `{"version": 2, "width": 80, "height": 24, "env": {"TERM": "x"}}` + "\n" +
			`[0.5, "o", "hi\u001b[m\r\n"]` + "\n" + `[1, "i", "x"]` + "\n\n" + `[2.25, "r", "100x50"]` + "\n" +
			`[3, "m", "idle"]`,
			Cast{80, 24, []CastEvent{
				{500 * time.Millisecond, CastOutput, "hi\x1b[m\r\n", 0, 0},
				{time.Second, CastInput, "x", 0, 0},
				{2250 * time.Millisecond, CastResize, "100x50", 100, 50},
				{3 * time.Second, CastMark, "idle", 0, 0},
			}}},
		{"version 3 counts times from the event before, and has comments",
			`{"version":3,"term":{"cols":90,"rows":30}}` + "\n" +
				"# a comment\n" + `[0.5,"o","a"]` + "\n" + `[0.25,"x","0"]` + "\n" + `[0.25,"o","b"]` + "\n",
			Cast{90, 30, []CastEvent{{500 * time.Millisecond, CastOutput, "a", 0, 0},
				{time.Second, CastOutput, "b", 0, 0}}}},
		{"a byte order mark, CR LF, blank lines and blanks before events", "\ufeff" +
			`{"version": 2, "width": 80, "height": 24}` + "\r\n\r\n" + `  [1, "o", "a"]` + "\r\n  # x\r\n",
			Cast{80, 24, []CastEvent{{time.Second, CastOutput, "a", 0, 0}}}},
		{"odd fields in the header",
			`{"version": 2.0, "width": 80.0, "height": 24, "term": "xterm", "env": null, "theme": {"fg": 1}, ` +
				`"timestamp": "x"}`,
			Cast{Cols: 80, Rows: 24}},
		{"events of other kinds, with other data",
			`{"version": 3, "term": {"cols": 80, "rows": 24, "type": "xterm", "theme": {}}, "width": "x"}` + "\n" +
				`[1, "x", 0]` + "\n" + `[0.1, "q", {"a": 1}, 7]` + "\n" + `[0.2, "o", "a", "more"]`,
			Cast{80, 24, []CastEvent{{1300 * time.Millisecond, CastOutput, "a", 0, 0}}}},
		{"a raw line like a header of something else", `{"version": "1.2.3", "width": 80}` + "\n",
			Cast{DefaultCols, DefaultRows, []CastEvent{{0, CastOutput, `{"version": "1.2.3", "width": 80}` + "\n", 0,
				0}}}},
		{"a header alone", `{"version": 2, "width": 80, "height": 24}`, Cast{Cols: 80, Rows: 24}},
		{"raw bytes", "\x1b[2Jhi\n\xff", Cast{DefaultCols, DefaultRows,
			[]CastEvent{{0, CastOutput, "\x1b[2Jhi\n\xff", 0, 0}}}},
		{"raw JSON without a version", "{\"a\": 1}\nx",
			Cast{DefaultCols, DefaultRows, []CastEvent{{0, CastOutput, "{\"a\": 1}\nx", 0, 0}}}},
		{"nothing", "", Cast{DefaultCols, DefaultRows, []CastEvent{{0, CastOutput, "", 0, 0}}}},
	}
	for _, tt := range tests {
		got, err := ReadCast(iotest.OneByteReader(strings.NewReader(tt.in)))
		if err != nil || !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestReadCastSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	const head = `{"version": 2, "width": 80, "height": 24}` + "\n"
	tests := []struct{ name, in, want string }{
		{"version 1", `{"version": 1, "width": 80, "height": 24, "stdout": []}`, "line 1: asciicast version 1"},
		{"no size", `{"version": 2}`, "line 1: the header gives no terminal size"},
		{"a size that is none", `{"version": 2, "width": "80", "height": -1}`,
			"line 1: the header gives no terminal size"},
		{"version 3 without a terminal", `{"version": 3, "width": 80, "height": 24}`,
			"line 1: the header gives no terminal size"},
		{"cut off", head + `[1, "o", "a"]` + "\n" + `[2, "o", "b`, "line 3: not a JSON array"},
		{"an object", head + "{}", "line 2: not a JSON array"},
		{"too few fields", head + "\n" + `[1, "o"]`, "line 3: 2 fields"},
		{"a time that is none", head + `["1", "o", "a"]`, `line 2: time "1" is not a number`},
		{"a negative time", head + `[-1, "o", "a"]`, "line 2: time -1 is not between"},
		{"a huge time", head + `[1e300, "o", "a"]`, "line 2: time 1e300 is not between"},
		{"a kind that is none", head + `[1, 2, "a"]`, "line 2: kind 2 is not a string"},
		{"data that is none", head + `[1, "o", 7]`, `line 2: data of a "o" event is not a string`},
		{"a bad size", head + `[1, "r", "80"]`, `line 2: resize to "80" is not COLSxROWS`},
		{"an empty size", head + `[1, "r", "0x0"]`, `line 2: resize to "0x0" is not COLSxROWS`},
	}
	for _, tt := range tests {
		got, err := ReadCast(strings.NewReader(tt.in))
		if got != nil || err == nil || !strings.HasPrefix(err.Error(), "read recording: "+tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	broken := errors.New("broken disk")
	if _, err := ReadCast(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a failing reader gives %v", err)
	}
}
