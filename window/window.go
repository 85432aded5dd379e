// Package window opens a terminal window for a person, with a program in it.
//
// The package builds a command line for each kind of terminal, and runs that command
// line. It builds no shell command, and does not watch what happens in the window
// afterwards.
package window

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/printable"
)

// Terminal is a kind of terminal that can open a window.
type Terminal string

// These are the terminals. ITerm2 and TerminalApp exist on macOS only.
const (
	Tmux        Terminal = "tmux"
	Kitty       Terminal = "kitty"
	WezTerm     Terminal = "wezterm"
	Ghostty     Terminal = "ghostty"
	ITerm2      Terminal = "iterm2"
	TerminalApp Terminal = "terminal"
)

// Terminals returns all terminals.
func Terminals() []Terminal {
	return []Terminal{Tmux, Kitty, WezTerm, Ghostty, ITerm2, TerminalApp}
}

// Window describes a window to open.
type Window struct {
	Terminal Terminal
	Name     string // the arm's name
	Workdir  string // the folder in which the window's program starts
	// Program is the command line of the program in the window. The window should close
	// when this program ends.
	Program []string
	Inside  bool // the caller runs in tmux; the window opens in the caller's tmux session
	Beside  bool // the arm's tmux session exists; the window opens in that session
	Mac     bool // the window opens on macOS
}

// Title returns the title of the window for an arm.
func Title(name string) string { return "coleo:" + name }

// Session returns the name of the tmux session for an arm. It replaces dots and colons, because
// names of tmux sessions cannot contain them.
func Session(name string) string {
	return "coleo-" + strings.NewReplacer(".", "_", ":", "_").Replace(name)
}

// Command returns the command line that opens the window w. It returns EInvalid if Coleo does not
// know the terminal. It returns EUnsupported if the terminal exists only on another system.
func Command(w Window) ([]string, error) {
	if !slices.Contains(Terminals(), w.Terminal) {
		return nil, coleo.Errorf(coleo.EInvalid, "%q is not a terminal that can be opened; terminals are %s", w.Terminal,
			printable.List(Terminals()))
	}
	if (w.Terminal == ITerm2 || w.Terminal == TerminalApp) && !w.Mac {
		return nil, coleo.Errorf(coleo.EUnsupported, "the terminal %s exists on macOS only", w.Terminal)
	}
	return append(openerArgs(w), w.Program...), nil
}

// openerArgs returns the beginning of the command line that opens a window. The command line of the
// program in the window follows it.
func openerArgs(w Window) []string {
	title := Title(w.Name)
	switch w.Terminal {
	case Tmux:
		// tmux runs the text between the parentheses of "#(…)" as a command. A doubled # prevents this, in case the
		// folder's name contains such a text.
		folder := strings.ReplaceAll(w.Workdir, "#", "##")
		if w.Inside {
			return []string{"tmux", "new-window", "-n", title, "-c", folder, "--"}
		}
		if w.Beside {
			return []string{"tmux", "new-window", "-t", "=" + Session(w.Name) + ":", "-n", title, "-c", folder, "--"}
		}
		return []string{"tmux", "new-session", "-d", "-s", Session(w.Name), "-n", title, "-c", folder, "--"}
	case Kitty:
		return []string{"kitty", "--detach", "--title", title, "--directory", w.Workdir}
	case WezTerm: // wezterm has no argument for the title
		return []string{"wezterm", "start", "--cwd", w.Workdir, "--"}
	case Ghostty:
		args := []string{"--title=" + title, "--working-directory=" + w.Workdir, "-e"}
		if w.Mac {
			return append([]string{"open", "-na", "Ghostty.app", "--args"}, args...)
		}
		return append([]string{"ghostty"}, args...)
	case ITerm2:
		return []string{"osascript", "-e", iterm2Script, title, w.Workdir}
	case TerminalApp:
		return []string{"osascript", "-e", terminalScript, title, w.Workdir}
	}
	return nil
}

// The scripts for the terminals of macOS are constant, and receive the title, the folder and the
// program as arguments. Both terminals accept the command only as one text, which a shell
// interprets. So the scripts quote each argument ("quoted form of").
const (
	commandLine = `on commandLine(argv)
	set said to "cd " & quoted form of (item 2 of argv) & " && exec"
	repeat with i from 3 to count of argv
		set said to said & " " & quoted form of (item i of argv)
	end repeat
	return said
end commandLine
`

	terminalScript = commandLine + `on run argv
	tell application "Terminal"
		activate
		set opened to do script my commandLine(argv)
		set custom title of opened to item 1 of argv
	end tell
end run`

	iterm2Script = commandLine + `on run argv
	tell application "iTerm2"
		activate
		set opened to create window with default profile command "/bin/sh -c " & quoted form of my commandLine(argv)
		tell current session of opened to set name to item 1 of argv
	end tell
end run`
)
