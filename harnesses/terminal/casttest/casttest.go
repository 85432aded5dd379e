// Package casttest gives tests the recordings of real agent CLIs, and the descriptions by
// which they are read. Only tests import it.
package casttest

import (
	"compress/gzip"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev/pty"
)

// recordings is the folder of the recordings, from the module's root.
const recordings = "harnesses/terminal/testdata/recordings"

// fewest is how many recordings there are at least.
const fewest = 196

// sampleOneIn says how few recordings are replayed when the race detector is on: one in
// so many. A replay is one goroutine, so the detector finds in a few recordings what it
// would find in all. The plain run replays all of them to check the readings.
const sampleOneIn = 8

// day selects those recordings; each recording has its day.
var day = flag.Int("day", time.Now().YearDay(), "which recordings are replayed under the race detector")

// Sampled reports whether a test replays a recording in this run: all of them, or a sample
// with the race detector or with -short.
func Sampled(test, recording string) bool {
	all := !Raced && !testing.Short()
	return all || int(crc32.ChecksumIEEE([]byte(test+recording))%sampleOneIn) == *day%sampleOneIn
}

// Root returns the module's folder, as a path from the folder of the running test.
func Root(t testing.TB) string {
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

// Names returns the names of all recordings, as FOLDER/NAME. A folder is named for an
// agent CLI and its version.
func Names(t testing.TB) []string {
	t.Helper()
	dir := filepath.Join(Root(t), recordings)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.cast.gz"))
	if err != nil || len(files) < fewest {
		t.Fatalf("%d recordings, %v; want %d at least", len(files), err, fewest)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".cast.gz")
	}
	return names
}

// Each runs a parallel subtest for each recording, or for a sample of them: see Sampled.
func Each(t *testing.T, f func(t *testing.T, name string, cast *pty.Cast)) {
	t.Helper()
	for _, name := range Names(t) {
		if !Sampled(t.Name(), name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, name, Cast(t, name))
		})
	}
}

// Cast returns a recording by its name, FOLDER/NAME.
func Cast(t testing.TB, name string) *pty.Cast {
	t.Helper()
	return read(t, filepath.Join(Root(t), recordings, name+".cast.gz"))
}

// read returns the recording in a file, which may be compressed.
func read(t testing.TB, path string) *pty.Cast {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	cast, err := pty.ReadCast(in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return cast
}

// Length returns the time of a recording's last event.
func Length(c *pty.Cast) time.Duration {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[len(c.Events)-1].At
}

// Labels returns the labels of a folder of recordings: the states over time by name.
func Labels(t testing.TB, folder string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Root(t), recordings, folder+".txt"))
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

// Description returns the harness.toml of the agent CLI that a folder of recordings is of,
// and its path.
func Description(t testing.TB, folder string) (path string, data []byte) {
	t.Helper()
	harness, _, _ := strings.Cut(folder, "-")
	switch harness { // agent CLIs whose folder has another name
	case "claude":
		harness = "claudecode"
	case "continue":
		harness = "continuecli"
	}
	path = filepath.Join(Root(t), "harnesses", harness, "harness.toml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}
