package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coleo.dev/cmd/coleo/verb"
)

// screenOf returns the output and the exit code of `coleo screen`.
func screenOf(t *testing.T, args ...string) (out, failure string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code = verb.Execute(t.Context(), root, append([]string{"screen"}, args...))
	return stdout.String(), stderr.String(), code
}

// recorded writes text to a file whose name does not show the format.
func recorded(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recording.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// packed returns text compressed by gzip.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // writing to memory never fails
	_ = w.Close()
	return b.String()
}

const (
	castV2 = `{"version": 2, "width": 20, "height": 4}` + "\n" +
		`[0.5, "o", "one\r\n"]` + "\n" + `[1.0, "i", "typed"]` + "\n" + `[1.5, "r", "30x5"]` + "\n" +
		`[2.0, "o", "two 漢🟢x"]` + "\n" + `[2.5, "m", "mark"]` + "\n"
	castV3 = "\ufeff" + `{"version": 3, "term": {"cols": 20, "rows": 4, "type": "xterm"}, "tags": []}` +
		"\r\n" + "# comment\r\n" +
		`[0.5, "o", "one\r\n"]` + "\r\n" + `[0.5, "i", "typed"]` + "\r\n" + `[0.5, "r", "30x5"]` + "\r\n" +
		`[0.5, "o", "two 漢🟢x"]` + "\r\n" + `[0.5, "x", "0"]` + "\r\n"
)

func TestScreenRendersWhatItsContentSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		args       []string
		want       string
	}{
		{"version 2", castV2, nil, "one\ntwo 漢🟢x\n"},
		{"version 3", castV3, nil, "one\ntwo 漢🟢x\n"},
		{"version 2, packed", packed(castV2), nil, "one\ntwo 漢🟢x\n"},
		{"raw bytes, packed", packed("a\r\nb"), nil, "a\nb\n"},
		{"raw bytes", "a\r\n\x1b[31mb\x1b[m\xff", nil, "a\nb\n"},
		{"raw bytes that look like JSON", "{\"a\": 1}\r\nb", nil, "{\"a\": 1}\nb\n"},
		{"version 2 at a moment", castV2, []string{"--at", "1.99"}, "one\n"},
		{"the moment itself is in", castV2, []string{"--at", "2"}, "one\ntwo 漢🟢x\n"},
		{"version 3 at a moment", castV3, []string{"--at", "1.99"}, "one\n"},
		{"at the start", castV3, []string{"--at", "0"}, "\n"},
		{"beyond the end", castV3, []string{"--at", "1e300"}, "one\ntwo 漢🟢x\n"},
		{"a size instead of the recorded ones", castV2, []string{"--size", "4x3"}, "two\n漢🟢\nx\n"},
		{"by the byte", castV2, []string{"--chunk", "1"}, "one\ntwo 漢🟢x\n"},
		{"by seven bytes", castV3, []string{"--chunk", "7"}, "one\ntwo 漢🟢x\n"},
		{"the other emulator", "a\x1b[3bc", []string{"--emulator", "vt10x"}, "aaaac\n"},
	}
	for _, tt := range tests {
		out, failure, code := screenOf(t, append([]string{recorded(t, tt.file)}, tt.args...)...)
		if out != tt.want || failure != "" || code != 0 {
			t.Errorf("%s: %q, %q, exit %d, want %q", tt.name, out, failure, code, tt.want)
		}
	}
}

func TestScreenAsJSON(t *testing.T) {
	t.Parallel()
	out, failure, code := screenOf(t,
		recorded(t, castV2+`[3, "o", "\u001b]0;t\u0007\u001b[?25l\u001b[?2004h\u001b[?1049h漢"]`), "--json")
	if code != 0 || failure != "" {
		t.Fatalf("%q, exit %d", failure, code)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	modes, _ := got["modes"].(map[string]any)
	if modes["bracketed_paste"] != true || modes["wrap"] != true || modes["insert"] != false {
		t.Errorf("modes %v", modes)
	}
	delete(got, "modes")
	want := map[string]any{
		"cols": 30.0, "rows": 5.0, "lines": []any{"", "         漢", "", "", ""},
		"cursor": []any{11.0, 1.0}, "cursor_visible": false, "alt": true, "title": "t",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestScreenSaysWhatIsWrongInALine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := recorded(t, castV2)
	tests := []struct {
		name string
		args []string
		want []string // texts that the error line must contain
	}{
		{"no such file", []string{filepath.Join(dir, "nothing")},
			[]string{"nothing: no such file", "give an asciicast"}},
		{"a directory", []string{dir}, []string{dir + " is a directory", "give an asciicast"}},
		{"an empty file", []string{recorded(t, "")}, []string{"is empty", "give an asciicast"}},
		{"a broken line", []string{recorded(t, castV2+`[4, "o"`)},
			[]string{"line 7: not a JSON array", "repair that line"}},
		{"a bad resize", []string{recorded(t, castV2+`[4, "r", "wide"]`)},
			[]string{`line 7: resize to "wide" is not COLSxROWS`}},
		{"another version", []string{recorded(t, `{"version": 1, "width": 2, "height": 3}`)},
			[]string{"line 1: asciicast version 1; only 2 and 3"}},
		{"no size", []string{recorded(t, `{"version": 2}`)}, []string{"line 1: the header gives no terminal size"}},
		{"a bad size", []string{good, "--size", "wide"},
			[]string{`--size "wide": write it as COLSxROWS, such as 120x40`}},
		{"a size of nothing", []string{good, "--size", "0x5"}, []string{`--size "0x5"`, "120x40"}},
		{"too large a size", []string{good, "--size", "1001x5"}, []string{`--size "1001x5"`, "1000x1000"}},
		{"a time before the start", []string{good, "--at", "-1"}, []string{"--at -1: give seconds"}},
		{"a time that is none", []string{good, "--at", "nan"}, []string{"--at NaN: give seconds"}},
		{"a negative chunk", []string{good, "--chunk", "-7"}, []string{"--chunk -7: give a number of bytes"}},
		{"an unknown emulator", []string{good, "--emulator", "xterm"},
			[]string{`--emulator "xterm": use core or vt10x`}},
		{"no file", nil, []string{"takes a file"}},
		{"two files", []string{good, good}, []string{"takes a file"}},
	}
	for _, tt := range tests {
		out, failure, code := screenOf(t, tt.args...)
		missing := slices.DeleteFunc(slices.Clone(tt.want), func(w string) bool { return strings.Contains(failure, w) })
		if out != "" || code != 2 || strings.Count(failure, "\n") != 1 || len(missing) > 0 {
			t.Errorf("%s: printed %q, said %q, exit %d, want one line with %q and exit 2", tt.name, out, failure, code,
				missing)
		}
		out, _, code = screenOf(t, append(tt.args, "--json")...)
		if code != 2 || out != "" {
			t.Errorf("%s as JSON: printed %q, exit %d", tt.name, out, code)
		}
	}
}
