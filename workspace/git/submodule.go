package git

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"coleo.dev"
)

// SubmoduleNames returns the names of the submodules by their paths, from the file .gitmodules of the
// checked-out commit. It omits a name that is unsafe as a folder's path, such as "../x". If there is no
// .gitmodules, the result is empty. SubmoduleNames returns EInvalid if git cannot parse the file.
func (r *Repo) SubmoduleNames(ctx context.Context) (map[string]string, error) {
	data, err := r.Run(ctx, Call{Args: []string{"cat-file", "blob", "HEAD:.gitmodules"}, Most: maxConfig})
	if ExitCode(err) > 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.program.submoduleNames(ctx, data)
}

// submoduleNames returns the names of the submodules by their paths, from the text of a file .gitmodules.
func (p Program) submoduleNames(ctx context.Context, data []byte) (map[string]string, error) {
	key := parsedKey{program: p.path, content: sha256.Sum256(data), modules: true}
	found, known := parsed.get(key)
	if !known {
		out, err := p.listConfig(ctx, data)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, coleo.Errorf(coleo.EInvalid, "the file .gitmodules of the commit is not a configuration of git: %w", err)
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			key, path, _ := strings.Cut(entry, "\n")
			name, is := strings.CutPrefix(key, "submodule.")
			if name, ends := strings.CutSuffix(name, ".path"); is && ends && canBeFolder(name) {
				found = append(found, setting{path, name})
			}
		}
		parsed.put(key, found)
	}
	names := map[string]string{}
	for _, s := range found {
		names[s.key] = s.value
	}
	return names, nil
}

// canBeFolder reports whether a submodule's name is safe as a path below the folder of all submodules'
// repositories. The path must not lead out of that folder. canBeFolder applies the rules of all operating systems.
func canBeFolder(name string) bool {
	if !filepath.IsLocal(name) || filepath.Clean(name) != name || name == "." || strings.ContainsAny(name, `\:`) ||
		strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, "-") || strings.EqualFold(strings.TrimRight(part, ". "), ".git") ||
			strings.HasPrefix(strings.ToLower(part), "git~")
	})
}

// Copy copies the settings whose names begin with one of these.
var copiedSettings = []string{"core.repositoryformatversion", "core.filemode", "core.ignorecase",
	"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol", "extensions.objectformat", "remote.", "user.",
	"author.", "committer."}

// Copy makes a copy of r in the new folder `dir`. The copy has all objects of r, its remotes with their branches, and
// its tags. It also has the refs that begin with one of the texts in `further`, such as refs/heads. Its HEAD is the
// given commit. Copy checks nothing out.
//
// The objects are copied instead of linked, so that nobody can change an object of r through the copy. The copy also
// stays complete if r deletes objects. Copy returns EUnsupported if r itself lacks objects.
func (r *Repo) Copy(ctx context.Context, dir, commit string, further ...string) error {
	if _, err := packsOf(filepath.Join(r.Common, "objects")); err != nil {
		return err // this error leaves nothing behind, because nothing has been made yet
	}
	for _, name := range []string{"objects/pack", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	if err := r.copyObjects(ctx, filepath.Join(dir, "objects")); err != nil {
		return err
	}
	refs, err := r.Output(ctx, append([]string{"for-each-ref",
		"--format=%(if)%(symref)%(then)%(else)%(objectname) %(refname)%(end)", "refs/remotes", "refs/tags"}, further...)...)
	if err != nil {
		return err
	}
	packed := strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(string(refs))), func(line string) bool {
		return strings.TrimSpace(line) == ""
	}), "")
	settings := []setting{{"core.bare", "false"}}
	for _, s := range r.settings {
		copied := slices.ContainsFunc(copiedSettings, func(begin string) bool { return strings.HasPrefix(s.key, begin) })
		if program := strings.HasSuffix(s.key, ".url") && strings.Contains(s.value, "::"); copied && !program {
			settings = append(settings, s)
		}
	}
	for _, file := range []struct{ name, text string }{
		{"config", string(writeSettings(settings))},
		{"packed-refs", packed},
		{"HEAD", commit + "\n"},
	} {
		if err := os.WriteFile(filepath.Join(dir, file.name), []byte(file.text), 0o666); err != nil {
			return err
		}
	}
	err = copyFile(filepath.Join(r.Common, "shallow"), filepath.Join(dir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Activate marks a submodule as active in the configuration of a repository that Copy has made.
func (r *Repo) Activate(name string) error {
	f, err := os.OpenFile(filepath.Join(r.Common, "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(writeSettings([]setting{{"submodule." + name + ".active", "true"}}))
	return errors.Join(err, f.Close())
}

// mostCopies is how often copyObjects tries to copy the objects. A try fails if another git process repacks the objects
// meanwhile.
const mostCopies = 5

// copyObjects copies all objects. Meanwhile another git can move objects into a new pack. So copyObjects
// begins again if an object has vanished or the list of packs has changed.
func (r *Repo) copyObjects(ctx context.Context, to string) error {
	from := filepath.Join(r.Common, "objects")
	for range mostCopies {
		before, err := packsOf(from)
		if err != nil {
			// Do not wrap the error. With its code EUnsupported, the caller would believe that nothing
			// has been copied yet.
			return fmt.Errorf("%s changes: %v", r.Common, err) //nolint:errorlint // a part has been copied
		}
		copied := copyFolder(ctx, from, to)
		if copied != nil && !errors.Is(copied, fs.ErrNotExist) {
			return copied
		}
		after, err := packsOf(from)
		if err != nil {
			return fmt.Errorf("%s changes: %v", r.Common, err) //nolint:errorlint // a part has been copied
		}
		if copied == nil && slices.Equal(before, after) {
			return nil
		}
	}
	return coleo.Errorf(coleo.EBusy, "the objects of %s keep changing: try again", r.Common)
}

// packsOf returns the names of the packs in a folder of objects. It returns EUnsupported if the
// repository lacks objects.
func packsOf(objects string) (names []string, err error) {
	if info, err := os.Stat(filepath.Join(objects, "info", "alternates")); err == nil && info.Size() > 0 {
		return nil, coleo.Errorf(coleo.EUnsupported, "%s uses the objects of another repository", objects)
	}
	entries, err := os.ReadDir(filepath.Join(objects, "pack"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".promisor" {
			return nil, coleo.Errorf(coleo.EUnsupported, "%s is of a partial clone", objects)
		}
		if filepath.Ext(e.Name()) == ".pack" {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// copyFolder copies the objects in one folder. It skips files that git can make again by itself.
func copyFolder(ctx context.Context, from, to string) error {
	const fanOut = 2 // length of the name of a folder with loose objects
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		packed := filepath.Base(from) == "pack"
		switch ext := filepath.Ext(e.Name()); {
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() && !packed && (len(e.Name()) == fanOut || e.Name() == "pack"):
			if err := os.MkdirAll(target, 0o777); err != nil {
				return err
			}
			err = copyFolder(ctx, source, target)
		case !e.Type().IsRegular() || strings.HasPrefix(e.Name(), "tmp_") ||
			packed && ext != ".pack" && ext != ".idx" && ext != ".rev":
			continue
		default:
			err = copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies a file that may be read-only, such as an object of git. The copy has the same mode. If
// the file system can clone files, the two files share their bytes.
func copyFile(from, to string) error {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not a file", from))
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
