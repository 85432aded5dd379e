package commandline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// This file runs the lines of TestShellsRunWhatParseLists, and compares what runs with what Parse lists.

// runner runs lines in one folder.
type runner struct {
	t       *testing.T
	dir     string // the folder in which the lines run
	record  string // the file to which the stubs write
	errors  *os.File
	watch   int // the inotify descriptor that tells which files of the folder are opened
	prelude string
	before  string // the listing of the folder before the first line
}

// stubs lists the commands for which the prelude has a function, with the exit status of each.
var stubs = map[string]int{"a": 0, "b": 1, "c": 0, "x": 0, "E": 0, "echo": 0, "test": 0, "true": 0, "false": 1}

func newRunner(t *testing.T) *runner {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{t: t, dir: filepath.Join(root, "x", "w"), record: filepath.Join(root, "record")}
	if err := os.MkdirAll(filepath.Join(r.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range namesOfFiles {
		files = append(files, "'"+filepath.Join(r.dir, name)+"'")
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r.errors, err = os.Create(filepath.Join(root, "errors")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.errors.Close() })
	// Each stub also prints text that a shell would split and replace by names.
	r.prelude = fmt.Sprintf("r_() { c_=$1 s_=; shift; for f_ in %s; do [ /dev/fd/0 -ef \"$f_\" ] && s_=$f_; done\n"+
		"printf '%%s\\0' \"$PWD\" \"$s_\" $# \"$@\" >>%s; printf 'a *\\n'; return $c_; }\n",
		strings.Join(files, " "), r.record)
	for name, status := range stubs {
		r.prelude += fmt.Sprintf("%s() { r_ %d %s \"$@\"; }\n", name, status, name)
	}
	r.prelude += "cd() { r_ 0 cd \"$@\"; command cd \"$@\"; }\ncommand_not_found_handle() { r_ 0 \"$@\"; }\n"
	r.before = r.listing()
	if r.watch, err = syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(r.watch) })
	for _, dir := range []string{r.dir, filepath.Join(r.dir, "sub")} {
		if _, err := syscall.InotifyAddWatch(r.watch, dir, syscall.IN_OPEN); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// listing returns the names and sizes of the files in the folder.
func (r *runner) listing() string {
	var out strings.Builder
	for _, dir := range []string{filepath.Dir(r.dir), r.dir, filepath.Join(r.dir, "sub")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			r.t.Error(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && !e.IsDir() {
				fmt.Fprintf(&out, "%s %d\n", e.Name(), info.Size())
			}
		}
	}
	return out.String()
}

// differsAlways runs the line of a job some times, and returns "" if one run does not differ. The shell records a
// word with the end of a row in two parts. Another command of the pipe can write between the two.
func (r *runner) differsAlways(j job) string {
	why := ""
	for range 4 {
		if why = r.differs(j); why == "" {
			break
		}
	}
	return why
}

// differs runs the line of a job. It returns how this differs from what Parse lists, or "".
func (r *runner) differs(j job) string {
	line := j.other
	if line == "" {
		line = j.line()
	}
	listed, err := Parse(line, j.shell.dialect, r.dir, shellNames)
	if err != nil || slices.ContainsFunc(listed, func(c Command) bool { return c.Words[0].Text == "." }) {
		return "" // the command . finds no file without a path
	}
	r.opened() // by a run before
	messages := r.run(j)
	opened := r.opened()
	if after := r.listing(); after != r.before {
		r.restore()
		return fmt.Sprintf("the files were\n%s\nand are\n%s", r.before, after)
	}
	data, err := os.ReadFile(r.record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Error(err)
	}
	for _, c := range calls(string(data)) {
		if !slices.ContainsFunc(listed, c.is) {
			return fmt.Sprintf("%q runs in %s with input %q; listed: %s", c.words, c.dir, c.input, shown(listed))
		}
	}
	for _, name := range opened {
		isInput := func(w Word) bool { return filepath.Base(w.Text) == name }
		if !slices.ContainsFunc(listed, func(c Command) bool { return slices.ContainsFunc(c.Inputs, isInput) }) {
			return fmt.Sprintf("the shell opens %q; listed: %s", name, shown(listed))
		}
	}
	return unlisted(messages, listed)
}

// unlisted returns the first message about a command that does not exist and that is not listed, or "".
func unlisted(messages string, listed []Command) string {
	for row := range strings.SplitSeq(messages, "\n") {
		name, isMissing := strings.CutSuffix(row, ": not found")
		name, isForbidden := strings.CutSuffix(name, ": Permission denied")
		if (isMissing || isForbidden) && !slices.ContainsFunc(listed, func(c Command) bool {
			text := c.Words[0].Text
			last := text[strings.LastIndexByte(text, '\n')+1:] // the message has several rows if the name has
			return strings.HasSuffix(name, ": "+last) || strings.HasSuffix(text, name)
		}) {
			return fmt.Sprintf("the shell looks for a command: %s; listed: %s", row, shown(listed))
		}
	}
	return ""
}

// opened returns the names of the files that were opened since the last call.
func (r *runner) opened() []string {
	var names []string
	buffer := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(r.watch, buffer)
		if err != nil || n <= 0 {
			return names
		}
		for b := buffer[:n]; len(b) >= syscall.SizeofInotifyEvent; {
			size := int(binary.NativeEndian.Uint32(b[12:])) + syscall.SizeofInotifyEvent
			name := string(bytes.TrimRight(b[syscall.SizeofInotifyEvent:size], "\x00"))
			if binary.NativeEndian.Uint32(b[4:])&syscall.IN_ISDIR == 0 && name != "" {
				names = append(names, name)
			}
			b = b[size:]
		}
	}
}

// run runs the line of a job and returns its messages. The line finds no program, only the stubs.
func (r *runner) run(j job) string {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	_ = os.Remove(r.record)
	if err := errors.Join(r.errors.Truncate(0), rewound(r.errors)); err != nil {
		r.t.Error(err)
	}
	c := exec.CommandContext(ctx, j.shell.path, "-c", r.prelude+j.line())
	c.Dir = r.dir
	c.Env = []string{"PATH=/nonexistent", "HOME=" + r.dir, "LC_ALL=C.UTF-8", "v=a  *", "y="}
	c.Stderr = r.errors
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	var status *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &status) {
		r.t.Errorf("%q: %v", j.line(), err)
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // a command in the background must not write to the next record
	data, err := os.ReadFile(r.errors.Name())
	if err != nil {
		r.t.Error(err)
	}
	return string(data)
}

func rewound(f *os.File) error {
	_, err := f.Seek(0, 0)
	return err
}

// restore makes the folder as it was.
func (r *runner) restore() {
	for _, dir := range []string{filepath.Dir(r.dir), r.dir, filepath.Join(r.dir, "sub")} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !e.IsDir() {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range namesOfFiles {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("\n"), 0o600); err != nil {
			r.t.Error(err)
		}
	}
}

// shortened leaves out parts of the line as long as a difference remains.
func (r *runner) shortened(j job, why string) (job, string) {
	for i := 0; i < len(j.parts); {
		shorter := j
		shorter.parts = slices.Delete(slices.Clone(j.parts), i, i+1)
		if now := r.differsAlways(shorter); now != "" {
			j, why, i = shorter, now, 0
			continue
		}
		i++
	}
	return j, why
}

// called is a command that a shell has run.
type called struct {
	dir, input string // input is the file that the command reads as its standard input, or ""
	words      []string
}

// calls reads the record of the stubs.
func calls(record string) []called {
	fields := strings.Split(record, "\x00")
	var out []called
	for len(fields) > 3 {
		n, err := strconv.Atoi(fields[2])
		if err != nil || len(fields) < 3+n {
			return append(out, called{words: []string{"a record that is not valid"}})
		}
		out = append(out, called{fields[0], fields[1], fields[3 : 3+n]})
		fields = fields[3+n:]
	}
	return out
}

// is reports whether a listed command is the one that has run.
func (c called) is(listed Command) bool {
	hasInput := func(w Word) bool {
		path := w.Text
		if !filepath.IsAbs(path) {
			path = filepath.Join(listed.Dir, path)
		}
		return path == c.input
	}
	return c.dir == listed.Dir && fits(listed.Words, c.words) &&
		(c.input == "" || slices.ContainsFunc(listed.Inputs, hasInput))
}

// fits reports whether the words of a listed command can be those that a command got. A listed word that is not
// known stands for any one word. Names that a pattern matches may be missing, or have another order.
func fits(listed []Word, got []string) bool {
	if len(listed) == 0 {
		return len(got) == 0
	}
	if !listed[0].Matched {
		return len(got) > 0 && (listed[0].Unknown || listed[0].Text == got[0]) && fits(listed[1:], got[1:])
	}
	matched := 1
	for matched < len(listed) && listed[matched].Matched {
		matched++
	}
	for i := range len(got) + 1 {
		if fits(listed[matched:], got[i:]) {
			return true
		}
		if i == len(got) || !slices.ContainsFunc(listed[:matched], func(w Word) bool { return w.Text == got[i] }) {
			break
		}
	}
	return false
}
