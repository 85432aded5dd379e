package reading

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// The functions in this file tell the policy about this machine: its paths, links and files.

const (
	// mostLinks is the largest number of symbolic links in one path. Linux has the same limit.
	mostLinks = 40
	// largestText is the largest size of a file that Text returns, in bytes. Ignore lists and git
	// settings usually have a few kilobytes. A file with 50,000 packed refs has 4 megabytes.
	largestText = 1 << 22
	// isHardLink is the text that Special returns for a file with more than one name.
	isHardLink = "has another name, as a hard link"
)

// Here implements Machine for the machine on which the process runs.
type Here struct{}

// ofKernel matches paths of the kernel's own folders. In these folders, a link such as
// /proc/self/cwd has a different target for each process.
var ofKernel = regexp.MustCompile(`^/(proc|sys|dev)(/|$)`)

// Resolve returns the path without symbolic links. If the path leads through a folder of the
// kernel, Resolve returns an error.
func (Here) Resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("the path is not absolute")
	}
	at, links := "/", 0
	for rest := strings.Split(path, "/"); len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, name) // also right for "..", because at has no links
		if ofKernel.MatchString(next) {
			return "", fmt.Errorf("it leads to %s, which is not a file on a disk", next)
		}
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			if os.IsNotExist(err) && links == 0 && strings.Join(rest, "") == "" {
				return next, nil
			}
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > mostLinks {
			return "", fmt.Errorf("it has more than %d links", mostLinks)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// IsFolder reports whether there is a folder at a resolved path.
func (Here) IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Special implements Machine. A pipe is special because reading it waits for another program. A
// file with a second name is special because it can be private under that name.
func (Here) Special(path string) string {
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return ""
	}
	if !info.Mode().IsRegular() {
		return "is neither a file nor a folder"
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return isHardLink
	}
	return ""
}

// Text returns the content of a small file.
func (Here) Text(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestText+1))
	if err == nil && len(data) > largestText {
		err = fmt.Errorf("it has more than %d bytes", largestText)
	}
	return string(data), err
}

// Part returns up to `size` bytes of a file from an offset.
func (Here) Part(path string, offset int64, size int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, offset, int64(size)))
}

// Names returns the names in a folder.
func (Here) Names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Program returns the resolved path of the program that a shell starts for the name.
func (Here) Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// Env returns the value of a variable in this process's environment.
func (Here) Env(name string) string { return os.Getenv(name) }
