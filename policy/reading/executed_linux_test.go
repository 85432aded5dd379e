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
	// leastAllowed is the smallest share of the generated lines that the judge must allow. If it allowed
	// fewer, the test would prove little.
	leastAllowed = 0.3
	// leastJudged is the smallest number of lines that are judged, even if -lines runs fewer. In a
	// smaller sample, the share of allowed lines varies too much.
	leastJudged = 2000
)

// TestWhatIsAllowedOnlyReads generates command lines from known lines and runs those that are allowed. A
// trace by strace then shows what they open, start and change. With -short, half of the lines run.
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
	judged, most := max(*lineCount, leastJudged), *lineCount
	if testing.Short() {
		most /= 2
	}
	unchanged := w.Remembering() // until the lines run
	for n := range judged {
		line := m.line()
		for _, s := range shells {
			if unchanged.Judge(Line{Text: line, Shell: s.dialect, Dir: w.Root}) == nil {
				allowedBy[s.dialect]++
				if n < most {
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

// TestTheTraceSeesWhatIsWrong runs lines that do something forbidden. The trace must report each of
// them.
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
	run     []string // the allowed lines, which are run
}

// newShells returns the shells of this machine. One of them is bash under the name sh, because its dialect
// differs from the dialects of bash and dash.
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

// constructs contains the ways to put two lines together, by name.
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

// maker generates command lines.
type maker struct {
	r    *rand.Rand
	used map[string]int
}

func (m *maker) pick(list []string) string { return list[m.r.IntN(len(list))] }

// line returns one known line, perhaps with changes, or two known lines in a construct.
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

// torn contains pieces of syntax, and commands that leave a trace if they run.
var torn = []string{"'", `"`, `\\`, "$", "`", "$(", ")", "(", "((", "))", "<<E\n", "\nE\n", "\nE)", "<<'E'\n", "\n",
	"#", " # ", ";", "; ",
	"&&", "||", "|", "&", "{", "}", "{ ", "; }", "[", "]", "!", "~", "*", "?", "=", ">", "<", ">&", "<(", "$'", `$"`,
	"${", "$[", "${!",
	"x=1; ", "touch new", "; touch new; ", "$(touch new)", "`touch new`", "a[$(touch new)]", "x='a[$(touch new)]'; " +
		"", "$x", `"$x"`,
	"\\\n", "esac", "done", " in ", "do ", "fi", "then ", "-eq ", "%d ", "\t", "<<<", "2>&1", "/dev/null", "case a in " +
		"a) ", "function f ",
	// These are pieces of awk and jq scripts, and options of git.
	`> "new"`, `>> "new"; `, `| "touch new"`, `; system("touch new")`, ` getline `, `print > "new"; `, "print ", "printf ",
	"/", ",",
	"env", "$ENV", "input", "\\(", "map(", "++", "in ", "if (", "for(i=1;i<=NF;i++) ", " -- ", " -p ", " -r ", "^{}", ":"}

// torn inserts pieces of syntax at random positions of a line.
func (m *maker) torn(line string) string {
	for range 1 + m.r.IntN(4) {
		i := m.r.IntN(len(line) + 1)
		line = line[:i] + m.pick(torn) + line[i:]
	}
	return line
}

// simple returns a known line. In half of the cases it replaces some words of the line by words of other
// lines, or adds such words.
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

// runner is a bash script. It reads lines from standard input, each ended by a zero byte, and runs each
// with the shell in $0. The time-out of 5 seconds ends lines that wait for input or never end.
const runner = `while IFS= read -r -d '' line; do timeout 5 "$0" -c "$line" </dev/null >/dev/null 2>&1; done; :`

// calls lists the system calls that strace records: those that open, start, connect or change something.
const calls = "trace=execve,execveat,open,openat,openat2,creat,mkdir,mkdirat,unlink,unlinkat,rmdir,rename,renameat," +
	"renameat2,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,truncate,ftruncate," +
	"mknod,mknodat,utimensat,setxattr,socket,connect,clock_settime,settimeofday,sethostname,mount"

// traced runs the lines with the given shell. It returns the system calls of the lines that no allowed line may
// make.
func (w Workspace) traced(t *testing.T, shell string, lines []string) []string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "strace", "-f", "--seccomp-bpf", "-y", "-s", "300", "-e", calls, "-o", out, "bash", "-c",
		runner, shell)
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
	n, shells := 0, 0
	program := map[string]string{} // the program that each process runs, by process id
	begins := fmt.Sprintf(`["timeout", "5", %q, "-c", `, shell)
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
	// The shell that executes the runner is itself counted, in addition to one shell for each line.
	if shells != len(lines)+1 {
		wrong = append(wrong, fmt.Sprintf("%d shells were started for %d lines", shells, len(lines)))
	}
	return wrong
}

// ofRunner lists the programs that the runner itself uses.
var ofRunner = []string{"bash", "dash", "sh", "zsh", "timeout"}

var (
	// succeeded matches a system call without an error. Group 1 is the name of the call, group 2 its
	// arguments, group 3 the path of the opened file.
	succeeded = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += \d+(?:<(.*)>)?\s*$`)
	started   = regexp.MustCompile(`^"([^"]*)"`)
	// ofSystem matches files that the libraries of each program open, or that zsh opens when it starts.
	ofSystem = regexp.MustCompile(`^(/usr/|/lib|/etc/(ld\.so|localtime|passwd|group|nsswitch|selinux|locale|zsh/zshenv)|` +
		`/proc/(self|filesystems|\d+/(maps|status|loginuid))|/dev/(null|tty|urandom)|/sys/|pipe:)`)
)

// ofRg matches files that rg opens by itself. It counts the processors, and reads which files to skip.
var ofRg = regexp.MustCompile(`^/proc/(self|\d+)/(cgroup|mountinfo)$|^/sys/fs/cgroup/|/\.git/info/exclude$`)

// execution matches a successful execve. Group 1 is the path of the program.
var execution = regexp.MustCompile(`^\d+ +execve\("([^"]*)", .*= 0$`)

// resumed matches the second half of a call. strace splits a call in two if another process makes a call
// meanwhile.
var resumed = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)

// wholeCalls returns the system calls of a trace, and puts calls that strace has split together again.
func wholeCalls(trace string) []string {
	var out []string
	begun := map[string]string{} // the first halves of split calls, by process id
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

// wrong returns why a system call of the program is forbidden, or "" if it is allowed. The call is a
// line of strace's output.
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
		if !strings.HasPrefix(args, "AF_UNIX") { // programs connect to a unix socket to ask for a user's name
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

// listing returns the names, sizes and times of all files in the workspace and beside it.
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

// FuzzALineIsJudgedWithoutAPanic judges arbitrary text. The judge may allow or refuse it, but must not
// panic.
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
