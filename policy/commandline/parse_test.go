package commandline

import (
	"errors"
	"strings"
	"testing"
)

// folder is a Names function for a machine that has only the folder /w.
func folder(dir string) ([]string, error) {
	if dir != "/w" {
		return nil, errors.New("no such folder")
	}
	return []string{"a.go", "b.go", ".env", "-x", "sub"}, nil
}

// shown returns the commands in one line. It separates words by |, shows an unknown word as ?, and
// adds the folder unless it is /w.
func shown(cmds []Command) string {
	var lines []string
	for _, c := range cmds {
		var words []string
		for _, w := range c.Words {
			text := w.Text
			if w.Unknown {
				text = "?"
			}
			words = append(words, text)
		}
		for _, in := range c.Inputs {
			words = append(words, "<"+in.Text)
		}
		line := strings.Join(words, "|")
		if c.Dir != "/w" {
			line += "@" + c.Dir
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ; ")
}

func TestWhatALineStarts(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`ls -l`:                                 "ls|-l",
		`ls 'a b' "c d" e\ f`:                   "ls|a b|c d|e f",
		`cat a.go | head -5 | wc -l`:            "cat|a.go ; head|-5 ; wc|-l",
		`cat *.go`:                              "cat|a.go|b.go",
		`cat *`:                                 "cat|a.go|b.go|-x|sub",
		`cat ?.go`:                              "cat|a.go|b.go",
		`cat no*`:                               "cat|no*",
		`cat "*.go"`:                            "cat|*.go",
		`ls && pwd || true; echo x`:             "ls ; pwd ; true ; echo|x",
		`cd /w/sub && ls && pwd`:                "cd|/w/sub ; ls@/w/sub ; pwd@/w/sub",
		`cd sub && ls`:                          "cd|sub ; ls@/w/sub",
		`grep "a$" "$|"`:                        "grep|a$|$|",
		`cd ./sub && ls | wc`:                   "cd|./sub ; ls@/w/sub ; wc@/w/sub",
		`for f in *.go; do head -1 "$f"; done`:  "head|-1|a.go ; head|-1|b.go",
		`if test -f a; then cat a; else ls; fi`: "test|-f|a ; cat|a ; ls",
		`x=a.go; cat "$x"`:                      "cat|a.go",
		`x='a b'; cat "$x"`:                     "cat|a b",
		`echo "$(ls)"`:                          "ls ; echo|?",
		`echo $?`:                               "echo|?",
		"cat <<'E'\n$(ls)\nE":                   "cat",
		`echo "$HOME/x"`:                        "echo|?",
		`ls >/dev/null 2>&1`:                    "ls",
		`ls &>/dev/null`:                        "ls",
		`sort < a.go`:                           "sort|<a.go",
		"cat <<E\nhello\nE":                     "cat",
		"cat <<E\n$(ls)\nE":                     "!not known",
		`cat <<<x`:                              "cat",
		`LC_ALL=C sort a`:                       "sort|a",
		`! ls`:                                  "ls",
		`{ ls; pwd; }`:                          "ls ; pwd",
		`(ls; pwd)`:                             "ls ; pwd",
		"ls # rm -rf /":                         "ls",
		"ls # a\nrm b":                          "ls ; rm|b",
		"ls \\\n -l":                            "ls|-l",
		`[ ! -f a ]`:                            "[|!|-f|a|]",
		`"l"s`:                                  "ls",
		`echo "a\b\$c"`:                         `echo|a\b$c`,

		`echo $(ls)`:                         "!without quotes",
		`echo $x`:                            "!without quotes",
		"echo \"`pwd`\"":                     "!not followed",
		"echo \"$(ls # )\n)\"":               "!comment",
		"cat <<E$x\nE":                       "!not valid",
		"ls # a \\\nrm b":                    "!after a backslash",
		"ls #\\\n rm b":                      "!after a backslash",
		"ls $\\\n*":                          "!between a $",
		`ls $!`:                              "!without quotes",
		`ls "$@"`:                            "!any number of words",
		`ls .*`:                              "!folder above",
		`ls sub/..*`:                         "!folder above",
		`ls .e*`:                             "ls|.env",
		"cat <<'E'#x\nE":                     "!comment",
		"cat <<\\E\nE":                       "!plain word",
		`ls &`:                               "!background",
		`ls > out`:                           "!writes to a file",
		`ls >> out`:                          "!writes to a file",
		`ls >| out`:                          "!writes to a file",
		`ls >&out`:                           "!redirects",
		`ls <> out`:                          "!redirection",
		`ls {fd}>/dev/null`:                  "!redirects",
		`PATH=. ls`:                          "!sets PATH",
		`LD_PRELOAD=x.so ls`:                 "!sets LD_PRELOAD",
		`LANG=../x ls`:                       "!sets LANG",
		`PATH=.; ls`:                         "!sets PATH",
		`path=.; ls`:                         "!sets path",
		`ls ~/x`:                             "!replace",
		`ls a=~/x`:                           "!replace",
		`ls {a,b}`:                           "!replace",
		`ls [a-z]*`:                          "!replace",
		`ls ["a"]".go"`:                      "!replace",
		`ls "a"["."]"go"`:                    "!replace",
		`x=1 < a.go; ls`:                     "!for no command",
		`ls !(a)`:                            "!ExtGlob",
		`ls */a`:                             "!for folders",
		`ls **`:                              "!into folders",
		`ls <(pwd)`:                          "!ProcSubst",
		`echo $((1+a))`:                      "!Arithm",
		`((a=1))`:                            "!Arithm",
		`[[ -f a ]]`:                         "!Test",
		`while true; do ls; done`:            "!may never end",
		`until ls; do pwd; done`:             "!may never end",
		`let a=1`:                            "!Let",
		`export a=1`:                         "!Decl",
		`f() { ls; }; f`:                     "!FuncDecl",
		`case a in a) ls;; esac`:             "!Case",
		`select x in a; do ls; done`:         "!loop",
		`for ((;;)); do ls; done`:            "!loop",
		`for f; do ls; done`:                 "!loop",
		`for PATH in .; do ls; done`:         "!sets PATH",
		`for f in $(ls); do cat "$f"; done`:  "!without quotes",
		`for f in a 'b c'; do cat $f; done`:  "!without quotes",
		`time ls`:                            "!Time",
		`coproc ls`:                          "!Coproc",
		`${x:=ls}`:                           "!changed",
		`echo ${x@P}`:                        "!changed",
		`echo ${!x}`:                         "!changed",
		`echo ${x[1]}`:                       "!changed",
		`$x`:                                 "!without quotes",
		`$(echo ls)`:                         "!without quotes",
		`"" a`:                               "!which program",
		`"$x"`:                               "!which program",
		`"$(ls)" a`:                          "!which program",
		`x="$(ls)"; cat "$x"`:                "!not known",
		`cd "$x" && ls`:                      "!not known",
		`* a`:                                "!which program",
		`echo $'a'`:                          "!form",
		`echo $"a"`:                          "!form",
		`cd -P && ls`:                        "!option",
		`cd +1 && ls`:                        "!option",
		`echo "$x"*`:                         "!not known",
		`cat s/../*.go`:                      "!has ..",
		`echo $"a"$'b'`:                      "!form",
		"echo \"$(cat <<E\nx\nE\n)\"":        "!within $(",
		"cat <<E\nx\\\nE\nE":                 "!after a backslash",
		`cd .. && ls`:                        "!has ..",
		`cd /w/sub; ls`:                      "!beginning",
		`ls && cd /w/sub && ls`:              "!beginning",
		`cd /w/sub && ls; pwd`:               "!can fail",
		`cd /w/sub && ls || pwd`:             "!beginning",
		`if cd /w/sub && ls; then pwd; fi`:   "!beginning",
		`'cd' /w/sub && ls`:                  "!beginning",
		`cd $x && ls`:                        "!without quotes",
		`cd - && ls`:                         "!not known",
		"ls\r":                               "!U+000D",
		"ls \x1b[2K":                         "!U+001B",
		"ls \u202e":                          "!U+202E",
		"ls\u00a0-l":                         "!U+00A0",
		"ls \xff":                            "!UTF-8",
		`ls 'a`:                              "!not valid",
		`ls |`:                               "!not valid",
		`x=1 y`:                              "!sets x",
		`true && x=1; cat "$x"`:              "!not followed",
		`x+=1`:                               "!not followed",
		`x=(a b)`:                            "!not followed",
		`x=$(ls); cat $x`:                    "!without quotes",
		`> /dev/null`:                        "!stands alone",
		`(ls) < a`:                           "!group",
		"ls " + strings.Repeat("a", MaxLine): "!more than",
		strings.Repeat("( ", 30) + "ls" + strings.Repeat(")", 30): "!nested",
	} {
		got, err := Parse(line, Bash, "/w", folder)
		if why, bad := strings.CutPrefix(want, "!"); bad {
			var u *Unclear
			if !errors.As(err, &u) || !strings.Contains(u.Why, why) {
				t.Errorf("%q: commands %s, error %v; want an error with %q", line, shown(got), err, why)
			}
		} else if err != nil || shown(got) != want {
			t.Errorf("%q: commands %s, error %v; want %s", line, shown(got), err, want)
		}
	}
}

func TestOtherShellsAreFollowedByTheirRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell Shell
		line  string
		clear bool
	}{
		{POSIX, `ls -l | wc`, true},
		{POSIX, `ls &>/dev/null`, false},
		{POSIX, `cat <<<x`, false},
		{POSIX, `echo $'.\x65nv'`, false},
		{POSIX, `echo $"a"`, false},
		{POSIX, `x=1; echo "$[x]"`, false},
		{POSIX, `echo $[x]`, false},
		{POSIX, `ls; ((ls))`, false},
		{POSIX, `grep "a$" b$ 'c$'`, true},
		{POSIX, `[[ -f a ]]`, false},
		{POSIX, `time ls`, false},
		{POSIX, `ls; coproc ls`, false},
		{POSIX, `PATH+=:. ls`, false},
		{POSIX, `echo time a+=b`, true},
		{Zsh, `ls -l | wc -l && cat a.go`, true},
		{Zsh, `cat "a b" 'c'`, true},
		{Zsh, `ls *(e:'touch x':)`, false},
		{Zsh, `=ls`, false},
		{Zsh, `ls *.go`, false},
		{Zsh, `echo "$x"`, false},
		{Zsh, `ls ^a`, false},
	} {
		if got, err := Parse(c.line, c.shell, "/w", folder); (err == nil) != c.clear {
			t.Errorf("%s: %q: commands %s, error %v", c.shell, c.line, shown(got), err)
		}
	}
}

// TestPatternsMatchTheNamesOfEveryShell parses patterns for names with capitals and with characters of several bytes.
func TestPatternsMatchTheNamesOfEveryShell(t *testing.T) {
	t.Parallel()
	names := func(string) ([]string, error) { return []string{"é", "ab", "B.GO"}, nil }
	for line, want := range map[string]string{
		`cat ?`:    "",              // a ? of dash is one byte, and the name has two
		`cat ??`:   "cat|é|ab|B.GO", // a ? can stand for a character of several bytes
		`cat *`:    "cat|é|ab|B.GO",
		`cat *.g?`: "", // a pattern ignores case only if an option of the shell is set
		`cat x?`:   "cat|x?",
	} {
		got, err := Parse(line, POSIX, "/w", names)
		if (want == "") != (err != nil) || shown(got) != want {
			t.Errorf("%q: commands %s, error %v; want %q", line, shown(got), err, want)
		}
	}
}
