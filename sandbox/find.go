package sandbox

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/paths"
	"coleo.dev/wholefile"
)

// systemFolders are the folders with the system's programs and their settings. They contain no
// files of users and no sockets.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
	"/nix/store", "/gnu/store", "/snap"}

// System returns the system's folders that every sandbox shows, and the files in these folders that
// stay hidden. It omits folders that this machine does not have.
func System() (shown []Place, hidden []Hidden) {
	for _, dir := range systemFolders {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			if text, err := os.Readlink(dir); err == nil {
				shown = append(shown, Place{Path: dir, Link: text})
			}
		default:
			shown = append(shown, Place{Path: dir})
		}
	}
	// /etc/resolv.conf can be a symbolic link to a file outside of /etc. The sandbox must then show that file too.
	const names = "/etc/resolv.conf"
	if real, err := filepath.EvalSymlinks(names); err == nil && !paths.Within("/etc", real) {
		shown = append(shown, Place{Path: real})
	}
	return shown, secrets("/etc")
}

// secrets returns the files and folders below the folder `dir` that some users of the machine cannot read. They
// must be hidden, because a sandboxed program could read them if Coleo runs as root.
func secrets(dir string) (out []Hidden) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		switch mode := info.Mode(); {
		case mode.IsDir() && mode&0o005 != 0o005:
			out = append(out, Hidden{Path: path, Folder: true})
			return fs.SkipDir
		case mode.IsRegular() && mode&0o004 == 0:
			out = append(out, Hidden{Path: path})
		}
		return nil
	})
	return out
}

// maxLinks is the largest number of symbolic links on the way from a program's path to its file.
// The kernel has the same limit.
const maxLinks = 40

// finder collects the files and folders that programs need.
type finder struct {
	path     []string // folders of PATH
	writable []Place  // the places in which sandboxed programs can write
	found    []Place
	seen     map[string]bool
	links    int
	// led is the last file in `writable` that has chosen the way: a link, a script or the settings of
	// a Python environment. It is "" if there was none.
	led   string
	wrong error
}

// ProgramFiles returns the files and folders that a sandbox must show so that a program can run. These
// are the program itself, the packages beside it, and its interpreter. ProgramFiles omits the system's
// folders, because System returns them.
//
// `path` is the path of the program, or a name that is looked up in the folders in `search`. If there is no
// such program, ProgramFiles returns ENotInstalled.
//
// `writable` lists the places in which sandboxed programs can write. If a file there leads to a file elsewhere
// that is not part of the system, ProgramFiles returns EUnsupported. Otherwise a sandboxed program could make the
// next sandbox show any file of the user.
func ProgramFiles(path string, search []string, writable []Place) ([]Place, error) {
	f := &finder{path: search, writable: writable, seen: map[string]bool{}}
	if !strings.Contains(path, "/") {
		path = f.lookUp(path)
	}
	found := filepath.IsAbs(path) && f.program(filepath.Clean(path))
	switch {
	case f.wrong != nil:
		return nil, f.wrong
	case !found:
		return nil, coleo.Errorf(coleo.ENotInstalled, "there is no program %q to use in a sandbox", path)
	}
	return f.found, nil
}

// lookUp returns the path of the program with the given name, or "" if there is none.
func (f *finder) lookUp(name string) string {
	for _, dir := range f.path {
		path := filepath.Join(dir, name) // for the name "", this is a folder
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func (f *finder) add(p Place) {
	if !f.seen[p.Path] {
		f.seen[p.Path] = true
		f.found = append(f.found, p)
	}
}

// isWritable reports whether sandboxed programs can change the file or the link at `path`.
func (f *finder) isWritable(path string) bool {
	return slices.ContainsFunc(f.writable, func(p Place) bool {
		return paths.Within(p.Path, path) || p.Source != "" && paths.Within(p.Source, path)
	})
}

// noteLeader notes that the file at `path` decides which file is needed next.
func (f *finder) noteLeader(path string) {
	if f.isWritable(path) {
		f.led = path
	}
}

// program adds the program at `path`, and reports whether it exists.
func (f *finder) program(path string) bool {
	real, ok := f.follow(path)
	if !ok || f.seen["program "+real] {
		return ok
	}
	f.seen["program "+real] = true
	if !inSystem(real) {
		if f.led != "" && !f.isWritable(real) {
			f.wrong = coleo.Errorf(coleo.EUnsupported, "nothing was started: %s leads to %s, and a sandboxed program can "+
				"change where it leads: use a program that is in no folder that a sandbox writes", f.led, real)
			return false
		}
		if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
			return false
		}
		f.addFiles(real)
	}
	interpreter := interpreterOf(real)
	if strings.Contains(interpreter, "/") {
		f.noteLeader(real)
	} else { // a name leads only to a program in PATH
		interpreter, f.led = f.lookUp(interpreter), ""
	}
	if filepath.IsAbs(interpreter) {
		f.program(filepath.Clean(interpreter))
	}
	return true
}

// follow adds the symbolic links on the way to `path`, and returns the path of the file at their end. It
// returns false if this file does not exist.
func (f *finder) follow(path string) (string, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := "/"
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return "", false
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		text, err := os.Readlink(at)
		if f.links++; err != nil || f.links > maxLinks {
			return "", false
		}
		if !inSystem(at) {
			f.add(Place{Path: at, Link: text})
		}
		f.noteLeader(at)
		if !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(at), text)
		}
		return f.follow(filepath.Join(append([]string{text}, parts[i+1:]...)...))
	}
	return path, true
}

// addFiles adds the file of a program and everything that belongs to the program:
//
//   - the whole folder node_modules, if the program is in one
//   - the whole Python environment, if the program is in its folder bin, and the Python program on which the
//     environment is based
//   - the folder lib beside the program's folder bin
//
// addFiles adds the folder above bin only for a Python environment. For other programs, that folder can be a
// user's folder with other files.
func (f *finder) addFiles(file string) {
	if before, _, ok := strings.Cut(file, "/node_modules/"); ok {
		f.add(Place{Path: before + "/node_modules"})
		return
	}
	f.add(Place{Path: file})
	dir := filepath.Dir(file)
	if filepath.Base(dir) != "bin" {
		return
	}
	prefix := filepath.Dir(dir)
	settings := filepath.Join(prefix, "pyvenv.cfg")
	if base := pythonBase(settings); base != "" {
		f.add(Place{Path: prefix})
		f.noteLeader(settings)
		f.program(filepath.Join(base, "python3"))
		return
	}
	if lib := filepath.Join(prefix, "lib"); isFolder(lib) && !inSystem(lib) {
		f.add(Place{Path: lib})
	}
}

// pythonBase reads the settings of a Python environment, and returns the folder of the Python program on which
// the environment is based. It returns "" if the settings are missing.
func pythonBase(settings string) string {
	for line := range strings.Lines(string(beginning(settings, maxSettings))) {
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "home" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// maxSettings is how much of the settings of a Python environment is read, in bytes.
const maxSettings = 64 << 10

// beginning returns at most the first `most` bytes of a regular file. It returns nothing if the file cannot be read.
// A program in a sandbox may have written the file, so beginning never waits at a pipe.
func beginning(path string, most int64) []byte {
	f, err := wholefile.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, most)) // the callers can use a part
	return text
}

// interpreterOf returns the interpreter in the first line of a script. It returns "" for a program
// that is not a script.
func interpreterOf(file string) string {
	line, _, _ := bytes.Cut(beginning(file, 512), []byte("\n")) // 512 bytes suffice, because the kernel reads only 256
	text, ok := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(text)
	if !ok || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return word
		}
	}
	return ""
}

func inSystem(path string) bool {
	return slices.ContainsFunc(systemFolders, func(dir string) bool { return paths.Within(dir, path) })
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
