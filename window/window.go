// Package window opens a terminal window that a person sees, with a program in it.
//
// It makes one command line for each kind of terminal and starts that. It builds no shell
// command. It does not look at what happens in the window afterwards.
package window

import (
	"slices"
	"strings"

	"coleo.dev"
)

// Terminal is a kind of terminal that can open a window.
type Terminal string

// The terminals. ITerm2 and TerminalApp exist on macOS only.
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

// Window describes a window that is to be opened.
type Window struct {
	Terminal Terminal
	Name     string // of the arm
	Workdir  string // the window's folder
	// Program is the command line of the program in the window. The window is meant to
	// close when this program ends.
	Program []string
	Inside  bool // the caller runs in tmux; Tmux then opens a window of that session
	Beside  bool // the arm's session of tmux exists; Tmux then opens a window of that session
	Mac     bool // the window is opened on macOS
}

// Title is the title of an arm's window.
func Title(name string) string { return "coleo:" + name }

// Session returns the name of the tmux session for an arm. tmux allows neither a dot nor
// a colon in such a name.
func Session(name string) string {
	return "coleo-" + strings.NewReplacer(".", "_", ":", "_").Replace(name)
}

// Command returns the command line that opens w. It returns EInvalid if there is no such
// terminal. It returns EUnsupported if the terminal exists only on another system.
func Command(w Window) ([]string, error) {
	if !slices.Contains(Terminals(), w.Terminal) {
		return nil, coleo.Errorf(coleo.EInvalid, "%q is not a terminal that can be opened; terminals are %v", w.Terminal,
			Terminals())
	}
	if (w.Terminal == ITerm2 || w.Terminal == TerminalApp) && !w.Mac {
		return nil, coleo.Errorf(coleo.EUnsupported, "the terminal %s exists on macOS only", w.Terminal)
	}
	return append(opener(w), w.Program...), nil
}

// opener returns the command line that opens w, without the program in the window.
func opener(w Window) []string {
	title := Title(w.Name)
	switch w.Terminal {
	case Tmux:
		// tmux carries out what "#(...)" in a folder's name says, unless # is doubled.
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
	case WezTerm: // it has no argument for the title
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

// The scripts for the terminals of macOS are fixed texts. The title, the folder and the
// program come as arguments. Both terminals take one text for a shell, so the scripts
// quote each argument ("quoted form of").
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
