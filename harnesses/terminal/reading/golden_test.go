package reading

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/pty"
)

// golden is a file with digests. They are made from the output of `coleo arm explain` after every chunk of
// every recording. To find a difference, print the readings of both versions with -readings and compare them.
const golden = "../testdata/explained.json.gz"

// goldenParts is the number of parts into which a recording is divided. Each part has its own digest, so that
// a mismatch names the part.
const goldenParts = 16

var (
	writeGolden = flag.Bool("write-golden", false, "write "+golden+" anew")
	dumpTo      = flag.String("readings", "", "write what explain shows after each chunk to this folder")
)

// explained contains the readings of a recording in short form.
type explained struct {
	Parts []string // for each part, a digest of all readings up to its end
	Last  string   // the reading at the end
	Modes []string `json:",omitempty"` // the reported modes, in order
}

// fingerprints matches the random part of a dialog's fingerprint.
var fingerprints = regexp.MustCompile(`("[Ff]ingerprint":"[0-9a-f]{12})-[0-9a-f]{4}-`)

// modesRead matches the mode in a reading. The test removes the mode before it makes a digest. So equal
// digests prove that a mode changes nothing else in a reading.
var modesRead = regexp.MustCompile(`,"mode":"[^"]*"`)

// TestEveryChunkOfEveryRecordingIsExplainedAsBefore compares the whole output of explain, after
// each chunk of each recording, with the golden file.
func TestEveryChunkOfEveryRecordingIsExplainedAsBefore(t *testing.T) {
	t.Parallel()
	if *writeGolden && (casttest.Raced || testing.Short()) {
		t.Fatal("-write-golden needs all recordings: leave out -race and -short")
	}
	want := map[string]explained{}
	if !*writeGolden {
		want = readGolden(t)
	}
	var mu sync.Mutex
	got := map[string]explained{}
	t.Run("all", func(t *testing.T) {
		casttest.Each(t, func(t *testing.T, name string, cast *pty.Cast) {
			is := explain(t, name, specFor(t, name), cast)
			mu.Lock()
			got[name] = is
			mu.Unlock()
			if !*writeGolden {
				compareExplained(t, cast, is, want[name])
			}
		})
	})
	if *writeGolden && !t.Failed() {
		saveGolden(t, got)
	}
}

// explain replays a recording and returns the output of explain after each chunk, with the changes
// in between.
func explain(t *testing.T, name string, spec *rules.Spec, cast *pty.Cast) explained {
	t.Helper()
	sum := sha256.New()
	var out io.Writer = sum
	if *dumpTo != "" {
		file, err := os.Create(filepath.Join(*dumpTo, strings.ReplaceAll(name, "/", "_")+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		out = io.MultiWriter(sum, file)
	}
	var is explained
	p := newPlayer(spec, Recording{Cast: cast, Until: -1}, func(c coleo.Change) {
		if c.Kind == coleo.ChangeMode {
			is.Modes = append(is.Modes, c.Reading.Mode)
			return
		}
		note(t, out, c)
	})
	for i, e := range cast.Events {
		now := recordingStart().Add(e.At)
		p.wait(now)
		p.feed(e, now)
		note(t, out, p.Explain(now))
		for len(is.Parts) < goldenParts && i+1 >= partEnd(len(is.Parts), len(cast.Events)) {
			is.Parts = append(is.Parts, digest(sum))
		}
	}
	end := recordingStart().Add(casttest.Length(cast))
	p.finish(end)
	note(t, out, p.Explain(end))
	is.Parts = append(is.Parts, digest(sum))
	last := p.Explain(end).Reading
	is.Last = fmt.Sprintf("%s by rule %q, %s", last.State, last.Rule, last.Detail)
	return is
}

// partEnd returns the number of events up to the end of part i, for n events in all.
func partEnd(i, n int) int { return (i + 1) * n / goldenParts }

func digest(sum hash.Hash) string { return fmt.Sprintf("%x", sum.Sum(nil)[:8]) }

func note(t *testing.T, out io.Writer, what any) {
	t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	text = modesRead.ReplaceAll(fingerprints.ReplaceAll(text, []byte("$1")), nil)
	_, _ = out.Write(append(text, '\n'))
}

func compareExplained(t *testing.T, cast *pty.Cast, got, want explained) {
	t.Helper()
	if !slices.Equal(got.Modes, want.Modes) {
		t.Errorf("the modes are %q, want %q", got.Modes, want.Modes)
	}
	if slices.Equal(got.Parts, want.Parts) && got.Last == want.Last {
		return
	}
	i := 0
	for i < min(len(got.Parts), len(want.Parts)) && got.Parts[i] == want.Parts[i] {
		i++
	}
	n := len(cast.Events)
	t.Errorf("what explain shows differs first within events %d to %d of %d; at the end it reads %s, want %s",
		partEnd(i-1, n)+1, min(n, partEnd(i, n)), n, got.Last, want.Last)
}

func readGolden(t *testing.T) map[string]explained {
	t.Helper()
	file, err := os.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]explained{}
	if err := json.NewDecoder(in).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func saveGolden(t *testing.T, all map[string]explained) {
	t.Helper()
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(golden, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
