package hook

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// start opens a reader in a folder whose name would be a problem for a shell.
func start(t *testing.T) (*Reader, string) {
	t.Helper()
	path := Path(filepath.Join(t.TempDir(), `it's "a" $folder`))
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, path
}

func texts(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Text("n"))
	}
	return strings.Join(out, " ")
}

func TestReportsAreReadOnceAndInOrder(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	if got := r.Lines(); got != nil {
		t.Fatalf("%v before the first report", got)
	}
	for _, n := range []string{"a", "b"} {
		Run([]string{path}, strings.NewReader(`{"n":"`+n+`"}`))
	}
	Run([]string{path, `{"n":"by argument"}`}, nil)
	if got := texts(r.Lines()); got != "a b by argument" {
		t.Errorf("%q", got)
	}
	if got := r.Lines(); got != nil {
		t.Errorf("%v came twice", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want 0600", info.Mode(), err)
	}
}

// TestTheUsersProgramGetsTheSamePayload: some agent CLIs can notify only one program, and Coleo's
// hook program takes the place of the user's own. The hook program must start the user's program
// with the same payload.
func TestTheUsersProgramGetsTheSamePayload(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	reported := filepath.Join(t.TempDir(), "reported")
	Run([]string{path, Then, "sh", "-c", `printf %s "$*" >"$0.part" && mv "$0.part" "$0"`,
		reported, "mine", `{"n":"both"}`}, nil)
	if got := texts(r.Lines()); got != "both" {
		t.Errorf("our file has %q", got)
	}
	var got []byte
	for deadline := time.Now().Add(patience * 10); len(got) == 0 && time.Now().Before(deadline); {
		got, _ = os.ReadFile(reported)
	}
	if string(got) != `mine {"n":"both"}` {
		t.Errorf("the user's program got %q", got)
	}
}

func TestAReaderIsWokenAndEnded(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	woken := make(chan time.Time)
	go func() {
		defer close(woken)
		for r.Wait() == nil {
			woken <- time.Now()
		}
	}()
	reported := time.Now()
	Run([]string{path}, strings.NewReader(`{"n":"x"}`))
	if took := (<-woken).Sub(reported); took > time.Second {
		t.Errorf("woken after %s", took)
	}
	_ = r.Close()
	if _, more := <-woken; more {
		t.Error("woken by the end")
	}
}

func TestWhatIsNoReportIsLeftOut(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	for _, bad := range []string{"", "nonsense", "[1]", `"x"`, "null", `{"n":`} {
		Run([]string{path}, strings.NewReader(bad))
	}
	Run(nil, nil)
	Run([]string{filepath.Join(filepath.Dir(path), "no", "such", "folder")}, strings.NewReader(`{"n":"lost"}`))
	Run([]string{path}, strings.NewReader(`{"n":"good"}`))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprintf(file, "garbage\n{}\n%s\n{\"payload\":{\"n\":\"forged\"}}\n{\"payload\":{\"n\":",
		strings.Repeat("x", 3*maxLine))
	if got := texts(r.Lines()); got != "good forged" {
		t.Errorf("%q", got)
	}
	fmt.Fprintln(file, `"whole"}}`)
	if got := texts(r.Lines()); got != "whole" {
		t.Errorf("%q, want the line whose end came later", got)
	}
}

func TestLargeValuesAreLeftOutByName(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	huge := strings.Repeat("x", maxValue+1)
	Run([]string{path, `{"n":"kept","huge":"` + huge + `"}`}, nil)
	var many strings.Builder
	for i := range 5 {
		fmt.Fprintf(&many, `,"v%d":"%s"`, i, huge[:maxValue/2+i])
	}
	Run([]string{path, `{"n":"also"` + many.String() + `}`}, nil)
	got := r.Lines()
	if len(got) != 2 || texts(got) != "kept also" || fmt.Sprint(got[0].Cut) != "[huge]" ||
		fmt.Sprint(got[1].Cut) != "[v4 v3]" {
		t.Errorf("%q, cut %v and %v", texts(got), got[0].Cut, got[1].Cut)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 2*maxLine {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}

// If the disk becomes full during the write of a report, the file ends with a part of a line. The next report must
// arrive all the same.
func TestAReportAfterAPartOfALineArrives(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	Run([]string{path, `{"n":"a"}`}, nil)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, whole[:len(whole)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	Run([]string{path, `{"n":"b"}`}, nil)
	Run([]string{path, `{"n":"c"}`}, nil)
	if got := texts(r.Lines()); got != "a b c" {
		t.Errorf("%q, want every whole report", got)
	}
}

// JSON can write each "<" as six bytes. A report with much markup must not become longer than the Reader accepts.
func TestAReportFullOfMarkupArrives(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	markup := strings.Repeat("<b>&</b>", (maxValue-2)/8)
	Run([]string{path, `{"n":"kept","input":"` + markup + `"}`}, nil)
	Run([]string{path, `{"n":"also","input":"` + markup[8:] + `","output":"` + markup[8:] + `"}`}, nil)
	got := r.Lines()
	if texts(got) != "kept also" || got[1].Text("input") != markup[8:] || len(got[1].Cut) > 0 {
		t.Errorf("%q, want both reports, and all of their values", texts(got))
	}
}

// Many hook programs append at the same time and fill several files. The Reader must return no line
// twice, and the folder must never contain more than two files.
func TestTheFileIsBounded(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	const writers, each = 8, 40
	filler := strings.Repeat("x", maxValue/2)
	seen := map[string]int{}
	var wait sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				if err := Append(path, strings.NewReader(fmt.Sprintf(`{"n":"%d.%d","filler":"%s"}`, w, i, filler)),
					time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wait.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for _, l := range r.Lines() {
			seen[l.Text("n")]++
		}
	}
	var held int64
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		held += info.Size()
	}
	if held > 2*(maxFile+maxLine) {
		t.Errorf("%d bytes are held in %v", held, entries)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%s came %d times", n, times)
		}
	}
	late, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if n := len(late.Lines()); n < maxFile/maxValue {
		t.Errorf("who comes late reads %d lines, want the last megabyte", n)
	}
}

func TestAHookThatGetsNoEndIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	_, path := start(t)
	in, out := io.Pipe()
	defer out.Close()
	begun := time.Now()
	Run([]string{path}, in)
	if took := time.Since(begun); took > 2*patience {
		t.Errorf("it took %s", took)
	}
	if raw, _ := os.ReadFile(path); !bytes.Equal(raw, nil) {
		t.Errorf("%q was written", raw)
	}
}

// Make must create both files of a hook before a sandbox starts. A sandbox contains only the files
// that exist when it starts.
func TestMakeCreatesTheFilesOfAHook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	paths, err := Make(dir)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v", paths, err)
	}
	r, err := Open(Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	Run([]string{paths[0], `{"n":"a"}`}, nil)
	if _, err := Make(dir); err != nil { // a second call keeps the reports
		t.Fatal(err)
	}
	if got := texts(r.Lines()); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestAFileThatIsEmptiedIsReadOn: a full file is normally renamed. In a sandbox the file is a
// mount, which cannot be renamed, so the hook program empties it instead. The Reader must then read
// the lines that follow.
func TestAFileThatIsEmptiedIsReadOn(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	for _, n := range []string{"a", "b"} {
		Run([]string{path, `{"n":"` + n + `"}`}, nil)
	}
	if got := texts(r.Lines()); got != "a b" {
		t.Fatalf("%q", got)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	Run([]string{path, `{"n":"c"}`}, nil)
	if got := texts(r.Lines()); got != "c" {
		t.Errorf("%q after the file was emptied", got)
	}
}

// An agent CLI in a sandbox can enlarge the hook's file to 4 TiB without writing data. The Reader
// must not read such a file to its end.
func TestAHugeFileWithoutDataIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	Run([]string{path, `{"n":"a"}`}, nil)
	if got := texts(r.Lines()); got != "a" {
		t.Fatalf("%q", got)
	}
	if err := os.Truncate(path, 1<<42); err != nil {
		t.Fatal(err)
	}
	if got := texts(r.Lines()); got != "" {
		t.Errorf("%q from a file without data", got)
	}
	Run([]string{path, `{"n":"b"}`}, nil)
	if got := texts(r.Lines()); got != "b" {
		t.Errorf("%q after a hook program has begun a new file", got)
	}
}

// A program in a sandbox can append to the hook's file as fast as the Reader reads. Lines must return all the same,
// and the next Wait must not wait. /dev/zero stands for such a file.
func TestAFileThatAlwaysGrowsIsReadInParts(t *testing.T) {
	t.Parallel()
	r, path := start(t)
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Lines()
		if err := r.Wait(); err != nil {
			t.Errorf("Wait = %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("Lines has not returned")
	}
}

// A process in the arm can put pipes into the folder of the reports. The host agent must not wait for a writer.
func TestAPipeInPlaceOfTheReportsIsNotRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"reports.jsonl", "reports.jsonl.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := Path(t.TempDir())
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(filepath.Dir(path), name), 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan []Line, 1)
			go func() {
				r, err := Open(path)
				if err != nil {
					t.Error(err)
					close(done)
					return
				}
				defer r.Close()
				done <- r.Lines()
			}()
			select {
			case lines := <-done:
				if len(lines) > 0 {
					t.Errorf("it has read %v", lines)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits at the pipe")
			}
		})
	}
}
