package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/wholefile"
)

// Project is a project's file of rules.
type Project struct {
	Path    string `json:"path"`
	Hash    string `json:"sha256"` // the hash of the content
	Content string `json:"content"`
	Trusted bool   `json:"trusted"` // the user trusts this content
	// Changed is true if the file has changed since the user trusted it.
	Changed bool `json:"changed"`
}

// Project returns the rules of the project in the folder dir. If the folder contains no rules, the
// error is ENotFound. If the rules are invalid, the error is EInvalid.
func (p Paths) Project(dir string) (Project, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return Project{}, coleo.Errorf(coleo.EInvalid, "%s is not a folder: name the folder of a project", dir)
	}
	path := filepath.Join(real, ProjectFile)
	data, err := readProject(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Project{}, coleo.Errorf(coleo.ENotFound, "%s does not exist: the project has no policy to trust", path)
	}
	if err != nil {
		return Project{}, err
	}
	if _, err := Parse("project", path, data); err != nil {
		return Project{}, err
	}
	trusted, err := p.readTrusted()
	if err != nil {
		return Project{}, err
	}
	out := Project{Path: path, Hash: hashOf(data), Content: string(data)}
	earlier, known := trusted[path]
	out.Trusted, out.Changed = earlier == out.Hash, known && earlier != out.Hash
	return out, nil
}

// Trust marks a project's rules as trusted. If the file has changed since the caller read the
// project, the error is EStale.
func (p Paths) Trust(seen Project) error {
	now, err := p.Project(filepath.Dir(filepath.Dir(seen.Path)))
	if err != nil {
		return err
	}
	if now.Hash != seen.Hash {
		return coleo.Errorf(coleo.EStale, "%s has changed since it was shown: nothing is trusted", seen.Path)
	}
	return p.changeTrust(func(trusted map[string]string) { trusted[seen.Path] = seen.Hash })
}

// Distrust makes Coleo stop trusting the rules file of the project in dir. It returns the path of
// the file. It returns ENotFound if the file was not trusted.
func (p Paths) Distrust(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir // use the path as given, because the folder may no longer exist
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	path := filepath.Join(real, ProjectFile)
	trusted, err := p.readTrusted()
	if err != nil {
		return path, err
	}
	if _, known := trusted[path]; !known {
		return path, coleo.Errorf(coleo.ENotFound, "%s is not trusted: nothing was changed", path)
	}
	return path, p.changeTrust(func(trusted map[string]string) { delete(trusted, path) })
}

// changeTrust reads the list of trusted files, passes it to `fn`, and writes the changed list. If several processes
// call changeTrust, they do so one after another.
func (p Paths) changeTrust(fn func(map[string]string)) error {
	unlock, err := lock(p.TrustFile)
	if err != nil {
		return err
	}
	defer unlock()
	trusted, err := p.readTrusted()
	if err != nil {
		return err
	}
	fn(trusted)
	return writeJSON(p.TrustFile, trusted)
}

// lock locks a file for a change, so that no change of another process is lost. A lost change could keep a grant or a
// trust that the user has ended.
func lock(path string) (unlock func(), err error) {
	if path == "" {
		return nil, coleo.Errorf(coleo.ENotFound, "there is no file of the policy: nothing was changed")
	}
	return wholefile.Lock(path + ".lock")
}

// writeJSON replaces the content of a file with the given value in JSON. Only the user can read the file. The error is
// EConflict if nobody could read the file again, because it would be too large.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if len(data) >= MaxSize {
		return coleo.Errorf(coleo.EConflict, "%s would have more than %d bytes: nothing was changed", path, MaxSize)
	}
	return wholefile.Replace(path, append(data, '\n'), wholefile.OwnerOnly)
}

// readTrusted returns a map from the path of each trusted file to the file's hash.
func (p Paths) readTrusted() (map[string]string, error) {
	out := map[string]string{}
	if p.TrustFile == "" {
		return out, nil
	}
	data, err := config.ReadOwnAtMost(p.TrustFile, MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read which files are trusted, in %s: %w", p.TrustFile, err)
	}
	return out, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
