package reading

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coleo.dev/printable"
)

// revisionParts matches a revision that names no file. Group 1 is the name, and group 2 is what follows the
// name, such as ~2 or ^{commit}.
var revisionParts = regexp.MustCompile(`^\^?(@|[A-Za-z0-9_][A-Za-z0-9_./-]*)` +
	`((?:~[0-9]*|\^[0-9]*|\^\{[^{}]*\}|@\{[^{}]*\}|\^@|\^-[0-9]*)*)$`)

// revisionStep matches one of the suffixes that follow the name of a revision, such as ~2.
var revisionStep = regexp.MustCompile(`[~^@](\{[^{}]*\}|[0-9]*|@|-[0-9]*)`)

// checkCommit refuses a revision unless it is certainly a commit. A revision that is a tree or a file
// could show private content under a harmless name.
func (w Workspace) checkCommit(dir, rev string) error {
	m := revisionParts.FindStringSubmatch(rev)
	if m == nil {
		return fmt.Errorf("%s is not a plain revision", printable.Shortened(rev))
	}
	name, isCommit, isLog := m[1], false, false
	for _, step := range revisionStep.FindAllString(m[2], -1) {
		switch {
		case strings.HasPrefix(step, "@"):
			isLog = true
		case step == "^{}", step == "^{tree}":
		case step == "^{commit}", strings.HasPrefix(step, "^{/"), !strings.Contains(step, "{"):
			isCommit = true
		default:
			return fmt.Errorf("%s can be the content of a file", printable.Shortened(rev))
		}
	}
	if isCommit {
		return nil
	}
	if isLog {
		return fmt.Errorf("%s can be the content of a file: write REVISION^{commit}", printable.Shortened(rev))
	}
	repository, err := w.repositoryOf(dir)
	if err != nil {
		return err
	}
	if err := w.namesCommit(repository, name); err != nil {
		return fmt.Errorf("%s can be the content of a file: write REVISION^{commit} (%w)", printable.Shortened(rev), err)
	}
	return nil
}

var (
	wholeHash = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)
	// endsInHash matches a name that git takes for an abbreviated hash if no ref has this name.
	endsInHash = regexp.MustCompile(`^(?:.*-g)?([0-9a-fA-F]{4,40})$`)
	// refText matches the content of a file that contains a ref: the name of another ref, or a hash.
	refText = regexp.MustCompile(`^(?:ref: (refs/\S+)\n?$|([0-9a-f]{40})(?:\s|$))`)
)

// namesCommit returns an error unless `name` is certainly the name of a commit. If several refs have this name,
// each of them must be a commit, because git could choose any of them.
func (w Workspace) namesCommit(repository, name string) error {
	if name == "@" {
		name = "HEAD"
	}
	if wholeHash.MatchString(name) {
		return w.checkIsCommit(repository, strings.ToLower(name), mostSteps)
	}
	found := false
	for _, ref := range []string{name, "refs/" + name, "refs/tags/" + name, "refs/heads/" + name,
		"refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"} {
		hash, err := w.refHash(repository, ref, mostSteps)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.checkIsCommit(repository, hash, mostSteps)
		}
		if err != nil {
			return err
		}
		found = true
	}
	if found {
		return nil
	}
	m := endsInHash.FindStringSubmatch(name)
	if m == nil {
		return fmt.Errorf("there is no ref with this name")
	}
	hash, err := w.wholeHash(repository, strings.ToLower(m[1]))
	if err != nil {
		return err
	}
	return w.checkIsCommit(repository, hash, mostSteps)
}

// mostSteps is the longest chain of refs or tags that is followed. A longer chain is refused, because it
// could be a circle.
const mostSteps = 5

// refHash returns the hash in a ref. If the ref contains the name of another ref instead, refHash follows
// that name. It reads at most `steps` refs. If a ref does not exist, the error is fs.ErrNotExist.
func (w Workspace) refHash(repository, ref string, steps int) (string, error) {
	path := filepath.Join(repository, ref)
	if strings.Contains(ref, "..") || steps == 0 {
		return "", fmt.Errorf("the ref %s cannot be followed", printable.Shortened(ref))
	}
	if w.Machine.IsFolder(path) {
		return "", fs.ErrNotExist
	}
	text, err := w.Machine.Text(path)
	if errors.Is(err, fs.ErrNotExist) {
		return w.packedRef(repository, ref)
	}
	if err != nil {
		if w.exists(filepath.Dir(path)) && !w.Machine.IsFolder(filepath.Dir(path)) {
			return w.packedRef(repository, ref) // a part of the path is a file, so this ref has no file of its own
		}
		return "", err
	}
	m := refText.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "", fmt.Errorf("%s is no plain ref", path)
	case m[1] == "":
		return m[2], nil
	}
	hash, err := w.refHash(repository, m[1], steps-1)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the ref %s has no commit", ref)
	}
	return hash, err
}

func (w Workspace) packedRef(repository, ref string) (string, error) {
	packed, err := w.Machine.Text(filepath.Join(repository, "packed-refs"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(packed) {
		if hash, name, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); name == ref && wholeHash.MatchString(hash) {
			return hash, nil
		}
	}
	return "", fs.ErrNotExist
}

// wholeHash finds the object whose hash begins with the given digits, and returns its full hash. It returns an
// error if no object matches, or more than one.
func (w Workspace) wholeHash(repository, beginning string) (string, error) {
	objects := filepath.Join(repository, "objects")
	var all []string
	names, err := w.Machine.Names(filepath.Join(objects, beginning[:2]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, name := range names {
		if strings.HasPrefix(name, beginning[2:]) && wholeHash.MatchString(beginning[:2]+name) {
			all = append(all, beginning[:2]+name)
		}
	}
	packs, err := w.readPacks(repository)
	if err != nil {
		return "", err
	}
	for _, p := range packs {
		found, err := p.find(beginning)
		if err != nil {
			return "", err
		}
		for _, o := range found {
			all = append(all, o.hash)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != 1 {
		return "", fmt.Errorf("%d objects have a hash that begins with %s", len(all), beginning)
	}
	return all[0], nil
}

// checkIsCommit returns an error unless an object is a commit or a tag of a commit. A tag can name another tag.
// checkIsCommit reads at most `steps` objects.
func (w Workspace) checkIsCommit(repository, hash string, steps int) error {
	if steps == 0 {
		return fmt.Errorf("too many objects lead to %s", hash)
	}
	kind, content, err := w.readObject(repository, hash)
	switch {
	case err != nil:
		return err
	case kind == "commit":
		return nil
	}
	if m := tagOf.FindStringSubmatch(content); kind == "tag" && m != nil {
		return w.checkIsCommit(repository, m[1], steps-1)
	}
	return fmt.Errorf("%s is a %s", hash, kind)
}

var (
	// tagOf matches the content of a tag that names a commit or another tag. Group 1 is the hash of the
	// named object.
	tagOf = regexp.MustCompile(`^object ([0-9a-f]{40})\ntype (?:commit|tag)\n`)
	// looseHead matches the beginning of a loose object, which is an object in a file of its own.
	looseHead = regexp.MustCompile(`(?s)^(commit|tree|blob|tag) [0-9]+\x00(.*)$`)
)

// firstBytes is how many bytes of an object are read. They are enough, because a tag names its object in
// its first line.
const firstBytes = 1024

// readObject returns the kind of an object and the beginning of the object's content.
func (w Workspace) readObject(repository, hash string) (kind, content string, err error) {
	packs, err := w.readPacks(repository)
	if err != nil {
		return "", "", err
	}
	for _, p := range packs {
		found, err := p.find(hash)
		if err != nil {
			return "", "", err
		}
		if len(found) > 0 {
			return p.readObject(found[0].offset, mostDeltas)
		}
	}
	data, err := w.Machine.Part(filepath.Join(repository, "objects", hash[:2], hash[2:]), 0, firstBytes)
	if err != nil {
		return "", "", err
	}
	text, err := inflated(data)
	m := looseHead.FindStringSubmatch(text)
	if m == nil {
		return "", "", fmt.Errorf("the object %s cannot be read: %v", hash, err)
	}
	return m[1], m[2], nil
}

// inflated returns the first bytes of the decompressed data. The compressed data may be incomplete
// at its end.
func inflated(data []byte) (string, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	out := make([]byte, firstBytes)
	n, err := io.ReadFull(z, out)
	return string(out[:n]), err
}
