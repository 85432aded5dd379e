package window

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
)

// odd is the name of a folder that a shell would split into several words.
const odd = `/w/it's "$(odd)"; #(dir)`

// oddInTmux is the folder's name as Command passes it to tmux.
const oddInTmux = `/w/it's "$(odd)"; ##(dir)`

func TestEachTerminalIsOpenedByArguments(t *testing.T) {
	t.Parallel()
	program := []string{"/bin/coleo", "arm", "attach", "a.b"}
	for _, tt := range []struct {
		w    Window
		want []string
	}{
		{Window{Terminal: Tmux}, []string{"tmux", "new-session", "-d", "-s", "coleo-a_b", "-n", "coleo:a.b", "-c", oddInTmux,
			"--"}},
		{Window{Terminal: Tmux, Inside: true}, []string{"tmux", "new-window", "-n", "coleo:a.b", "-c", oddInTmux, "--"}},
		{Window{Terminal: Tmux, Beside: true}, []string{"tmux", "new-window", "-t", "=coleo-a_b:", "-n", "coleo:a.b", "-c",
			oddInTmux, "--"}},
		{Window{Terminal: Kitty}, []string{"kitty", "--detach", "--title", "coleo:a.b", "--directory", odd}},
		{Window{Terminal: WezTerm}, []string{"wezterm", "start", "--cwd", odd, "--"}},
		{Window{Terminal: Ghostty}, []string{"ghostty", "--title=coleo:a.b", "--working-directory=" + odd, "-e"}},
		{Window{Terminal: Ghostty, Mac: true}, []string{"open", "-na", "Ghostty.app", "--args", "--title=coleo:a.b",
			"--working-directory=" + odd, "-e"}},
		{Window{Terminal: ITerm2, Mac: true}, []string{"osascript", "-e", iterm2Script, "coleo:a.b", odd}},
		{Window{Terminal: TerminalApp, Mac: true}, []string{"osascript", "-e", terminalScript, "coleo:a.b", odd}},
	} {
		w := tt.w
		w.Name, w.Workdir, w.Program = "a.b", odd, program
		got, err := Command(w)
		if want := slices.Concat(tt.want, program); err != nil || !slices.Equal(got, want) {
			t.Errorf("Command(%+v) =\n%q, %v\nwant\n%q", w, got, err, want)
		}
	}
}

func TestATerminalThatIsNotHereIsRefused(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[Terminal]coleo.Code{
		"": coleo.EInvalid, "xterm": coleo.EInvalid, ITerm2: coleo.EUnsupported, TerminalApp: coleo.EUnsupported,
	} {
		if _, err := Command(Window{Terminal: terminal}); coleo.ErrorCode(err) != want {
			t.Errorf("%q: %v, want %s", terminal, err, want)
		}
	}
}

// The fake terminals of this test are scripts with the names of the real programs.
func TestAFailureOfATerminalIsReportedInItsOwnWords(t *testing.T) {
	bin, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	w := Window{Terminal: Kitty, Name: "one", Workdir: odd, Program: []string{"coleo", odd}}
	if _, err := exec.LookPath("kitty"); err == nil {
		t.Skip("kitty is installed")
	}
	if err := Open(t.Context(), w, nil); coleo.ErrorCode(err) != coleo.ENotInstalled {
		t.Errorf("without the program: %v, want %s", err, coleo.ENotInstalled)
	}
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + seen + "\necho cannot open display >&2\nexit $CODE\n"
	if err := os.WriteFile(filepath.Join(bin, "kitty"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	err := Open(t.Context(), w, []string{"CODE=3"})
	if coleo.ErrorCode(err) != coleo.EInternal || !strings.Contains(err.Error(), "cannot open display") {
		t.Errorf("a terminal that fails: %v", err)
	}
	if err := Open(t.Context(), w, []string{"CODE=0"}); err != nil {
		t.Error(err)
	}
	raw, _ := os.ReadFile(seen)
	if want := "--detach\n--title\ncoleo:one\n--directory\n" + odd + "\ncoleo\n" + odd + "\n"; string(raw) != want {
		t.Errorf("the program got\n%s\nwant\n%s", raw, want)
	}
}
