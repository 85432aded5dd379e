// Package casttest provides recordings of real agent CLIs for tests, and the harness descriptions
// that read these recordings. Only tests import it.
package casttest

import (
	"bytes"
	"compress/gzip"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coleo.dev/pty"
)

const (
	// recordings is the folder of the recordings and their labels, relative to the
	// module's root.
	recordings = "harnesses/terminal/testdata/recordings"
	// shared is the folder of the recordings that the tests of package pty also use.
	shared = "pty/testdata/casts"
)

// fewest is the smallest number of recordings that must exist, so that a lost folder makes a test
// fail.
const fewest = 196

// A plain run replays all recordings. With the race detector, a test replays only one in every
// racedOneIn recordings, and with -short one in every shortOneIn. A sample is enough for the race
// detector, because each replay runs in one goroutine.
const (
	racedOneIn = 8
	shortOneIn = 64
)

// day selects the recordings of a sample, so that each day has a different sample.
var day = flag.Int("day", time.Now().YearDay(), "which recordings are replayed where only a sample is")

// isSampled reports whether a test replays a recording in this run.
func isSampled(test, recording string) bool {
	oneIn := 1
	switch {
	case testing.Short():
		oneIn = shortOneIn
	case Raced:
		oneIn = racedOneIn
	}
	return int(crc32.ChecksumIEEE([]byte(test+recording)))%oneIn == *day%oneIn
}

// root returns the module's folder, relative to the folder of the running test.
func root(t testing.TB) string {
	t.Helper()
	dir := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join(dir, "..")
	}
	t.Fatal("no folder above this one has a go.mod")
	return ""
}

// Names returns the names of all recordings, as FOLDER/NAME. The name of a folder
// consists of the agent CLI and its version. Names fails the test if a recording has no
// label.
func Names(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(root(t), recordings, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range folders {
		folder := strings.TrimSuffix(filepath.Base(path), ".txt")
		for name := range Labels(t, folder) {
			names = append(names, folder+"/"+name)
		}
	}
	slices.Sort(names)
	files, _ := filepath.Glob(filepath.Join(root(t), recordings, "*", "*.cast.gz"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".cast.gz")
		if _, ok := slices.BinarySearch(names, name); !ok {
			t.Fatalf("%s has no label", name)
		}
	}
	if len(names) < fewest {
		t.Fatalf("%d recordings have labels; want %d at least", len(names), fewest)
	}
	return names
}

// Each runs a parallel subtest for each recording, or only for a sample of them: see isSampled.
func Each(t *testing.T, f func(t *testing.T, name string, cast *pty.Cast)) {
	t.Helper()
	for _, name := range Names(t) {
		if !isSampled(t.Name(), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, name, Cast(t, name))
		})
	}
}

// Cast returns the recording with the given name, FOLDER/NAME. The recording is in FOLDER, or among
// the recordings that the tests of package pty also use.
func Cast(t testing.TB, name string) *pty.Cast {
	t.Helper()
	return Read(t, pathOf(t, name))
}

// Bytes returns the unpacked file of the recording with the given name, as an asciicast.
func Bytes(t testing.TB, name string) []byte {
	t.Helper()
	return unpack(t, pathOf(t, name))
}

func pathOf(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(root(t), recordings, name+".cast.gz")
	if _, err := os.Stat(path); err != nil {
		return sharedPath(t, name)
	}
	return path
}

// sharedPath returns the path of a recording that the tests of package pty also use. The file name
// begins with the name of the agent CLI, without the version. For example, the recording
// claude-code-2.1.329-osc7501/liar is in the file claude-osc7501-liar.
func sharedPath(t testing.TB, name string) string {
	t.Helper()
	folder, rest, _ := strings.Cut(name, "/")
	agent, version, _ := strings.Cut(strings.Replace(folder, "claude-code", "claude", 1), "-")
	if _, variant, ok := strings.Cut(version, "-"); ok {
		agent += "-" + variant
	}
	found, err := filepath.Glob(filepath.Join(root(t), shared, agent+"-"+rest+".cast*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("recordings called %s: %q, %v; want one", name, found, err)
	}
	return found[0]
}

// Read returns the recording in the file at path. It unpacks a file whose name ends with .gz.
func Read(t testing.TB, path string) *pty.Cast {
	t.Helper()
	cast, err := pty.ReadCast(bytes.NewReader(unpack(t, path)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cast
}

func unpack(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var in *gzip.Reader
		if in, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, err = io.ReadAll(in)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return raw
}

// Length returns the time of a recording's last event.
func Length(c *pty.Cast) time.Duration {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[len(c.Events)-1].At
}

// Labels returns the labels of the recordings in a folder, by the name of the recording. A label
// lists the states of the recording, in order.
func Labels(t testing.TB, folder string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root(t), recordings, folder+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if name, list, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(name, "#") {
			out[name] = list
		}
	}
	return out
}

// Description returns the path and the content of the harness.toml that reads a folder of
// recordings. The name of the folder begins with the name of the agent CLI.
func Description(t testing.TB, folder string) (path string, data []byte) {
	t.Helper()
	harness, _, _ := strings.Cut(folder, "-")
	// These are the agent CLIs whose harness has another name than the recordings' folder.
	switch harness {
	case "claude":
		harness = "claudecode"
	case "continue":
		harness = "continuecli"
	}
	path = filepath.Join(root(t), "harnesses", harness, "harness.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}
