package reading

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coleo.dev/policy/commandline"
)

var (
	lineCount = flag.Int("lines", 100, "how many command lines to make, judge and run")
	lineSeed  = flag.Uint64("seed", 0, "the seed of the lines; 0 takes the time")
)

const (
	// leastAllowed is the least share of the made lines that are allowed. With fewer, the test
	// would say little.
	leastAllowed = 0.3
	// leastJudged is how many lines are judged at least, also if fewer are run. In a small sample,
	// the share of the allowed lines is left to chance.
	leastJudged = 2000
)

// TestWhatIsAllowedOnlyReads makes command lines out of known ones, runs those that are
// allowed, and looks at what they open, start and change by strace.
func TestWhatIsAllowedOnlyReads(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		if strings.Contains(os.Getenv("COLEO_REQUIRE"), "strace") {
			t.Fatal(err)
		}
		t.Skip("strace is not installed")
	}
	w := newTree(t)
	seed := *lineSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./policy/reading -run WhatIsAllowedOnlyReads -lines %d -seed %d", *lineCount, seed)
	m := maker{r: rand.New(rand.NewPCG(seed, 0)), used: map[string]int{}}
	shells := newShells(t)
	allowedBy := map[commandline.Shell]int{}
	judged := max(*lineCount, leastJudged)
	unchanged := w.Remembering() // until the lines run
	for n := range judged {
		line := m.line()
		for _, s := range shells {
			if unchanged.Judge(Line{Text: line, Shell: s.dialect, Dir: w.Root}) == nil {
				allowedBy[s.dialect]++
				if n < *lineCount {
					s.run = append(s.run, line)
				}
			}
		}
	}
	share := float64(allowedBy[commandline.Bash]) / float64(judged)
	t.Logf("%.1f %% of the lines are allowed; constructs: %v", 100*share, m.used)
	if share < leastAllowed {
		t.Errorf("%.2f of the lines are allowed, want %.2f", share, leastAllowed)
	}
	for name := range constructs {
		if m.used[name] == 0 {
			t.Errorf("no line has the construct %s", name)
		}
	}
	before := w.listing(t)
	for _, s := range shells {
		for batch := range slices.Chunk(s.run, 500) {
			for _, wrong := range w.traced(t, s.program, batch) {
				t.Errorf("%s: %s", s.program, wrong)
			}
		}
	}
	if after := w.listing(t); after != before {
		t.Errorf("the files were\n%s\nand are\n%s", before, after)
	}
}

// TestTheTraceSeesWhatIsWrong: lines that do what must not happen are told.
func TestTheTraceSeesWhatIsWrong(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	w := newTree(t)
	for _, line := range []string{"cat ../outside/plain.txt", "cat link.txt", "touch new", "echo x > a.go", "rm b.txt",
		"cat .env", "python3 -c 1", "find . -name '*.txt' -exec cat {} +", "exec 3<>/dev/tcp/127.0.0.1/9", "mkdir x"} {
		if len(w.traced(t, "bash", []string{line})) == 0 {
			t.Errorf("%q is not told", line)
		}
	}
}

// shell is a program that runs lines of one dialect.
type shell struct {
	program string
	dialect commandline.Shell
	run     []string // the lines that are allowed
}

// newShells returns the shells of this machine. Bash with the name sh reads a line as
// neither bash nor dash does.
func newShells(t *testing.T) []*shell {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	sh := filepath.Join(t.TempDir(), "sh")
	if err := os.Symlink(bash, sh); err != nil {
		t.Fatal(err)
	}
	out := []*shell{{program: "bash", dialect: commandline.Bash}, {program: sh, dialect: commandline.POSIX}}
	for _, other := range []shell{{program: "dash", dialect: commandline.POSIX},
		{program: "zsh", dialect: commandline.Zsh}} {
		if _, err := exec.LookPath(other.program); err == nil {
			out = append(out, &other)
		}
	}
	return out
}

// constructs are the ways in which lines are put together. Each makes one line of two.
var constructs = map[string]string{
	"pipe": "%s | %s", "and": "%s && %s", "or": "%s || %s", "list": "%s; %s", "substitution": "echo $(%s); %s",
	"quoted substitution": "echo \"$(%s)\" && %s", "backquotes": "echo \"`%s`\"; %s", "group": "{ %s; %s; }",
	"subshell": "(%s; %s)", "if": "if %s; then %s; fi", "while": "while false; do %s; done; %s",
	"for": "for f in a.go b.txt; do %s; %s; done", "not": "! %s; %s", "document": "cat <<E\nx\nE\n%s; %s",
	"here string": "cat <<<x; %s; %s", "errors": "%s 2>/dev/null; %s", "function": "f() { %s; }; f; %s",
	"background": "%s & %s", "case": "case a in a) %s;; esac; %s", "arithmetic": "echo $((1+1)); %s; %s",
	"process": "cat <(%s); %s", "written": "%s > new; %s", "variable": "x=a.go; cat \"$x\"; %s; %s", "comment": "%s; %s " +
		"# x",
	"folder": "cd ./sub && %s; %s", "environment": "LC_ALL=C %s; %s",
}

// maker makes command lines.
type maker struct {
	r    *rand.Rand
	used map[string]int
}

func (m *maker) pick(list []string) string { return list[m.r.IntN(len(list))] }

// line returns a line: one known line, changed or not, or two in a construct.
func (m *maker) line() string {
	switch m.r.IntN(9) {
	case 0, 1, 2:
	case 3:
		return m.torn(m.simple())
	default:
		return m.simple()
	}
	names := make([]string, 0, len(constructs))
	for name := range constructs {
		names = append(names, name)
	}
	slices.Sort(names)
	name := m.pick(names)
	m.used[name]++
	line := fmt.Sprintf(constructs[name], m.simple(), m.simple())
	if m.r.IntN(6) == 0 {
		return m.torn(line)
	}
	return line
}

// pieces of syntax, with a command that shows when it runs.
var torn = []string{"'", `"`, `\\`, "$", "`", "$(", ")", "(", "((", "))", "<<E\n", "\nE\n", "\nE)", "<<'E'\n", "\n",
	"#", " # ", ";", "; ",
	"&&", "||", "|", "&", "{", "}", "{ ", "; }", "[", "]", "!", "~", "*", "?", "=", ">", "<", ">&", "<(", "$'", `$"`,
	"${", "$[", "${!",
	"x=1; ", "touch new", "; touch new; ", "$(touch new)", "`touch new`", "a[$(touch new)]", "x='a[$(touch new)]'; " +
		"", "$x", `"$x"`,
	"\\\n", "esac", "done", " in ", "do ", "fi", "then ", "-eq ", "%d ", "\t", "<<<", "2>&1", "/dev/null", "case a in " +
		"a) ", "function f ",
	// Pieces of awk and jq, and options of git.
	`> "new"`, `>> "new"; `, `| "touch new"`, `; system("touch new")`, ` getline `, `print > "new"; `, "print ", "printf ",
	"/", ",",
	"env", "$ENV", "input", "\\(", "map(", "++", "in ", "if (", "for(i=1;i<=NF;i++) ", " -- ", " -p ", " -r ", "^{}", ":"}

// torn puts pieces of syntax anywhere into a line.
func (m *maker) torn(line string) string {
	for range 1 + m.r.IntN(4) {
		i := m.r.IntN(len(line) + 1)
		line = line[:i] + m.pick(torn) + line[i:]
	}
	return line
}

// simple returns a known line. In half of the cases, words of other lines replace, follow
// or precede some of its words.
func (m *maker) simple() string {
	line := m.pick(allowed)
	if m.r.IntN(8) == 0 {
		line = m.pick(asked)
	}
	if m.r.IntN(2) == 0 || line == "" {
		return line
	}
	words := strings.Split(line, " ")
	for range 1 + m.r.IntN(2) {
		other := strings.Split(m.pick(slices.Concat(allowed, asked)), " ")
		word := other[m.r.IntN(len(other))]
		i := m.r.IntN(len(words))
		switch m.r.IntN(4) {
		case 0:
			words[i] = word
		case 1:
			words = slices.Insert(words, i+1, word)
		case 2:
			words = append(words, word)
		case 3:
			words[i] += word
		}
	}
	return strings.Join(words, " ")
}

// runner runs the lines of its standard input, which end with a zero byte. Some lines
// wait for their input, and some never end.
const runner = `while IFS= read -r -d '' line; do timeout 5 "$0" -c "$line" </dev/null >/dev/null 2>&1; done; :`

// calls are the system calls that are looked at: those that open, start, connect or change.
const calls = "trace=execve,execveat,open,openat,openat2,creat,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat," +
	"renameat2,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,truncate,ftruncate," +
	"mknod,mknodat,utimensat,setxattr,socket,connect,clock_settime,settimeofday,sethostname,mount"

// traced runs the lines and returns what they did that no line may do.
func (w Workspace) traced(t *testing.T, shell string, lines []string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "strace", "-f", "--seccomp-bpf", "-y", "-s", "300", "-e", calls, "-o", out, "bash", "-c", runner, shell)
	c.Dir = w.Root
	c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(filepath.Dir(w.Root), "home")}
	c.Stdin = strings.NewReader(strings.Join(lines, "\x00") + "\x00")
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("strace: %v: %s", err, output)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var wrong []string
	n := 0
	program := map[string]string{} // of a process
	begins := fmt.Sprintf(`["timeout", "5", %q, "-c", `, shell)
	shells := 0
	for _, call := range wholeCalls(string(data)) {
		pid, _, _ := strings.Cut(call, " ")
		if m := execution.FindStringSubmatch(call); m != nil {
			program[pid] = filepath.Base(m[1])
			if strings.Contains(call, begins) {
				n++
			}
			if slices.Contains(ofRunner, program[pid]) && program[pid] != "timeout" {
				shells++
			}
		}
		if why := w.wrong(program[pid], call); why != "" {
			wrong = append(wrong, fmt.Sprintf("%q %s: %s", lines[max(0, min(n-1, len(lines)-1))], why, call))
		}
	}
	// The runner starts the shell once for each line, and is one itself.
	if shells != len(lines)+1 {
		wrong = append(wrong, fmt.Sprintf("%d shells were started for %d lines", shells, len(lines)))
	}
	return wrong
}

// ofRunner are the programs that run the lines.
var ofRunner = []string{"bash", "dash", "sh", "zsh", "timeout"}

var (
	// succeeded matches a call with its result, which is no error. Group 1 is the name of
	// the call, group 2 its arguments, group 3 the path of the opened file.
	succeeded = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += \d+(?:<(.*)>)?\s*$`)
	started   = regexp.MustCompile(`^"([^"]*)"`)
	// ofSystem matches files that libraries open in each program, or that zsh opens at its start.
	ofSystem = regexp.MustCompile(`^(/usr/|/lib|/etc/(ld\.so|localtime|passwd|group|nsswitch|selinux|locale|zsh/zshenv)|` +
		`/proc/(self|filesystems|\d+/(maps|status|loginuid))|/dev/(null|tty|urandom)|/sys/|pipe:)`)
)

// ofRg matches files that rg opens by itself: to count the processors, and to learn which files to skip.
var ofRg = regexp.MustCompile(`^/proc/(self|\d+)/(cgroup|mountinfo)$|^/sys/fs/cgroup/|/\.git/info/exclude$`)

// execution matches a call that has started a program, with the program.
var execution = regexp.MustCompile(`^\d+ +execve\("([^"]*)", .*= 0$`)

// resumed matches the second half of a call during which another process made one.
var resumed = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)

// wholeCalls returns the calls of a trace, each in one line.
func wholeCalls(trace string) []string {
	var out []string
	begun := map[string]string{} // by process
	for line := range strings.SplitSeq(strings.TrimSpace(trace), "\n") {
		pid, _, _ := strings.Cut(line, " ")
		if first, ok := strings.CutSuffix(line, "<unfinished ...>"); ok {
			begun[pid] = strings.TrimSpace(first)
			continue
		}
		if m := resumed.FindStringSubmatch(line); m != nil {
			line = begun[pid] + m[2]
		}
		out = append(out, line)
	}
	return out
}

// wrong says what is wrong with a call of a program, a line of strace, or "".
func (w Workspace) wrong(program, call string) string {
	m := succeeded.FindStringSubmatch(call)
	if m == nil {
		return ""
	}
	name, args, path := m[1], m[2], m[3]
	switch name {
	case "execve", "execveat":
		next := filepath.Base(started.FindStringSubmatch(args)[1])
		if _, ok := programs[next]; !ok && !slices.Contains(ofRunner, next) {
			return "starts a program"
		}
	case "open", "openat", "openat2":
		return w.wrongOpen(program, args, path)
	case "socket":
		if !strings.HasPrefix(args, "AF_UNIX") { // asking for the name of a user
			return "opens a socket"
		}
	default:
		return "changes something"
	}
	return ""
}

func (w Workspace) wrongOpen(program, args, path string) string {
	if ofSystem.MatchString(path) || program == "rg" && ofRg.MatchString(path) {
		return ""
	}
	below, inside := strings.CutPrefix(path+"/", w.Root+"/")
	ofGit := program == "git" && (strings.HasPrefix(below, ".git/") || path == "/etc/gitconfig")
	switch {
	case regexp.MustCompile(`O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`).MatchString(args):
		return "writes a file"
	case !inside && !ofGit:
		return "opens a file outside the workspace"
	case privateName(below) != "" && !ofGit && !strings.Contains(args, "O_DIRECTORY"):
		return "opens a private file"
	}
	return ""
}

// listing returns names, sizes and times of all files of the workspace and beside it.
func (w Workspace) listing(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(filepath.Dir(w.Root), func(path string, info os.FileInfo, err error) error {
		if err == nil {
			out.WriteString(path + " " + strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// FuzzALineIsJudgedWithoutAPanic: any text is allowed or not.
func FuzzALineIsJudgedWithoutAPanic(f *testing.F) {
	for _, line := range slices.Concat(allowed, asked) {
		f.Add(line)
	}
	w := newTree(f).Remembering() // nothing changes its files
	f.Fuzz(func(_ *testing.T, line string) {
		for _, shell := range []commandline.Shell{commandline.Bash, commandline.POSIX, commandline.Zsh} {
			_ = w.Judge(Line{Text: line, Shell: shell, Dir: w.Root})
		}
	})
}
