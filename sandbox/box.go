package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev/sandbox/inside"
	"coleo.dev/sandbox/limits"
)

// Box lists what a program sees of the machine. All paths are absolute, and are the same inside and
// outside of the sandbox. If one place lies within another, the inner place decides what the program
// sees there.
type Box struct {
	Workdir  string   // the folder in which the program starts
	Home     string   // an empty folder, except for places that lie within it
	System   []Place  // programs and settings of the system
	Readable []Place  // the program can read these
	Writable []Place  // the program can also write these
	Hidden   []Hidden // files within the other places; they appear empty in the sandbox
	Offline  bool     // if true, the program has a network with only the loopback interface
	// Network is the path of a file with a proxy.Config. The program then has a network with only
	// the loopback interface, and a proxy to the hosts in the file. If Network is empty, there is no
	// proxy.
	Network string
	// Limits describes what enforces the limits of the program and of everything that it starts.
	Limits limits.Means
}

// Place is a file or a folder that exists.
type Place struct {
	Path   string // path inside of the sandbox
	Source string // path outside, without symbolic links; "" means Path
	Link   string // if set, the place is a symbolic link to this target
}

// Hidden is a file or a folder that exists outside, and appears empty inside.
type Hidden struct {
	Path   string
	Folder bool
}

// Programs contains the programs that make a sandbox.
type Programs struct {
	Bwrap string // path of bubblewrap
	Coleo string // path of a Coleo program that knows the verbs of package inside
}

// Argv returns the beginning of a command line that runs a program in the box. The caller must
// append the command line of the program. All processes of the box are descendants of the process
// that runs the whole command line.
func (b Box) Argv(p Programs) []string {
	argv := []string{p.Coleo, inside.StartVerb}
	enter := []string{"--", p.Coleo, inside.EnterVerb}
	if b.Network != "" {
		argv, enter = append(argv, inside.NetworkOption, b.Network), append(enter, inside.NetworkOption)
	}
	if list := b.Limits.Group.List(); list != "" {
		argv = append(argv, inside.LimitOption, string(list))
	}
	if list := b.Limits.Each.List(); list != "" {
		enter = append(enter, inside.LimitOption, string(list))
	}
	argv = append(append(argv, "--", p.Bwrap), namespaces(b.Offline || b.Network != "")...)
	argv = append(argv, "--tmpfs", "/tmp")
	for _, m := range b.mounts(p) {
		argv = append(argv, m.args()...)
	}
	for _, h := range b.Hidden {
		argv = append(argv, h.args()...)
	}
	return append(append(append(argv, "--chdir", b.Workdir), enter...), "--")
}

// namespaces returns the options that separate the program from the machine.
//
// If root runs Coleo, the program also has root's user id outside of the sandbox, but must have none of root's
// rights:
//   - --cap-drop keeps the program from mounting the root folder again in order to write to it.
//   - --remount-ro protects the kernel's settings in /proc/sys, which belong to root.
//
// Two options are missing on purpose:
//   - --new-session would take the terminal from the agent CLI, which needs it. Instead, a filter keeps the
//     agent CLI from typing into this terminal (see package inside).
//   - --die-with-parent would kill the agent CLI at once when its parent ends. Without it, the holder can first
//     ask the agent CLI to end. If the holder has died, its guard does so. Afterwards the holder or the guard
//     kills the first process of the namespace, and the kernel then kills all others.
func namespaces(offline bool) []string {
	out := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
		"--cap-drop", "ALL", "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"}
	if offline {
		out = append(out, "--unshare-net")
	}
	return out
}

// mount is one mount that bubblewrap makes.
type mount struct {
	Place
	option string
	rank   int // if two mounts have the same path, the one with the higher rank is used
}

func (m mount) args() []string {
	switch {
	case m.option == "--tmpfs":
		return []string{m.option, m.Path}
	case m.Link != "":
		return []string{"--symlink", m.Link, m.Path}
	}
	return []string{m.option, cmp.Or(m.Source, m.Path), m.Path}
}

// mounts returns the mounts in the order in which bubblewrap must make them. A folder comes before
// the mounts within it.
func (b Box) mounts(p Programs) []mount {
	list := []mount{{Place: Place{Path: b.Home}, option: "--tmpfs"}}
	add := func(option string, rank int, places ...Place) {
		for _, place := range places {
			list = append(list, mount{place, option, rank})
		}
	}
	add("--ro-bind", 1, b.System...)
	add("--ro-bind", 1, Place{Path: p.Coleo})
	add("--bind", 2, b.Writable...)
	add("--ro-bind", 3, b.Readable...)
	slices.SortStableFunc(list, func(x, y mount) int {
		return cmp.Or(strings.Compare(x.Path, y.Path), cmp.Compare(y.rank, x.rank))
	})
	list = slices.CompactFunc(list, func(x, y mount) bool { return x.Path == y.Path })
	slices.SortStableFunc(list, func(x, y mount) int { return cmp.Compare(depth(x.Path), depth(y.Path)) })
	return slices.DeleteFunc(list, func(m mount) bool { return m.Link != "" && isCovered(list, m.Path) })
}

// isCovered reports whether the nearest mount above `path` already shows the same file as outside.
func isCovered(list []mount, path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if at := slices.IndexFunc(list, func(m mount) bool { return m.Path == dir }); at >= 0 {
			return list[at].option != "--tmpfs"
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func depth(path string) int { return strings.Count(path, "/") }

func (h Hidden) args() []string {
	if h.Folder {
		return []string{"--tmpfs", h.Path, "--remount-ro", h.Path}
	}
	return []string{"--ro-bind", "/dev/null", h.Path}
}
