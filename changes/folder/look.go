package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"coleo.dev/changes"
)

// gitlink is the mode that git gives a submodule.
const gitlink = "160000"

// readable is the mode of access(2) that asks whether the caller may read a file.
const readable = 4

// longestName is the size of the longest name that git can look up in a folder, in bytes.
const longestName = 4096

// parents remembers which folders are real folders and which are symbolic links. Git does not look
// at files below a symbolic link.
type parents struct {
	files *os.Root
	known map[string]bool
}

func (p *parents) real(dir string) bool {
	if dir == "." {
		return true
	}
	if known, ok := p.known[dir]; ok {
		return known
	}
	real := p.real(filepath.Dir(dir))
	if real {
		info, err := p.files.Lstat(dir)
		real = err == nil && info.IsDir()
	}
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[dir] = real
	return real
}

// lstat returns the file information of `name`, without following links. It returns nil if the file does not
// exist, or if a folder in the name is a symbolic link. An arm can write any name into its index, so lstat
// returns an error for a name that no file can have.
func (p *parents) lstat(name string) (fs.FileInfo, error) {
	if !filepath.IsLocal(name) || len(name) > longestName {
		return nil, &fs.PathError{Op: "lstat", Path: name[:min(len(name), longestName)], Err: fs.ErrInvalid}
	}
	if !p.real(filepath.Dir(name)) {
		return nil, nil
	}
	info, err := p.files.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return info, err
}

// isSubmodule reports whether a folder contains its own repository.
func (f *Folder) isSubmodule(name string) bool {
	_, err := f.files.Lstat(filepath.Join(name, ".git"))
	return err == nil
}

// canBeRead reports whether git can read what is at a path now, and the reason if git cannot. If
// the path contains nothing that git stores, it returns false and no reason.
func (f *Folder) canBeRead(p path, in *parents, most int64) (found bool, why string) {
	info, err := in.lstat(p.name)
	if err != nil {
		return false, "it cannot be read: " + err.Error()
	}
	if info == nil {
		return false, ""
	}
	switch info.Mode().Type() {
	case 0:
		if info.Size() > most {
			return false, fmt.Sprintf("it is larger than %d MB", most>>20)
		}
		if syscall.Access(filepath.Join(f.Root(), p.name), readable) != nil {
			return false, "it cannot be read: permission denied"
		}
		return true, ""
	case fs.ModeSymlink:
		return true, ""
	case fs.ModeDir:
		if p.mode != gitlink && !p.entry.Submodule {
			return false, ""
		}
		if !f.isSubmodule(p.name) {
			return false, "it is a submodule that is not checked out"
		}
		return true, ""
	default:
		return false, "" // there is a pipe, a socket or a device, which git ignores
	}
}

// isOdd reports whether a path contains something that git cannot compare with a file, such as a pipe
// or a repository. Git would fail, or treat the repository as a submodule.
func (f *Folder) isOdd(name string, in *parents) bool {
	info, err := in.lstat(name)
	if err != nil || info == nil {
		return err != nil
	}
	return !info.IsDir() || f.isSubmodule(name)
}

// realFolder opens the folder `dir` below the root `files`. It follows no symbolic link, even if an arm has just made
// one, because a restore must not write into a folder such as .git/hooks. If `create` is true, it makes missing
// folders.
func realFolder(files *os.Root, dir string, create bool) (*os.Root, error) {
	at, err := files.OpenRoot(".")
	for part := range strings.SplitSeq(dir, "/") {
		if err != nil || part == "." {
			return at, err
		}
		above := at
		at, err = openReal(above, part, create)
		above.Close()
	}
	return at, err
}

func openReal(above *os.Root, name string, create bool) (*os.Root, error) {
	if create {
		if err := above.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := above.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s, which is above it, is not a folder", changes.Show(name))
	}
	inner, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := inner.Stat("."); err != nil || !os.SameFile(now, info) {
		inner.Close()
		return nil, errors.Join(err, errChanged)
	}
	return inner, nil
}
