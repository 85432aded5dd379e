package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/wholefile"
	"coleo.dev/workspace/git"
)

// maxTrustFile is the largest size of the file with the trusted scripts, in bytes. It has room for
// more than 1,000 scripts that name a few files, or for about 15 scripts that name mostNamed files.
const maxTrustFile = 4 << 20

// Trusted is a script that the user trusts in one repository.
type Trusted struct {
	Hash  string `json:"hash"`  // the trusted Script.Hash or Script.NamedHash
	Files []File `json:"files"` // the trusted files, with which Coleo shows how a later script differs
}

// Trusts provides the scripts that the user trusts.
type Trusts struct {
	File string // path of the file with the list; "" means that no script is trusted
}

// Of returns the version of a script that the user has trusted, or nil if there is none. The result `trusted`
// is true if the script is still this version.
func (t Trusts) Of(s Script) (earlier *Trusted, trusted bool, err error) {
	all, err := t.read()
	if err != nil {
		return nil, false, err
	}
	e, ok := all[s.key()]
	if !ok {
		return nil, false, nil
	}
	return &e, e.Hash != "" && (e.Hash == s.Hash || e.Hash == s.NamedHash), nil
}

// key returns a text that identifies the script and its repository.
func (s Script) key() string { return s.Repository + " " + s.Path }

// Require returns EForbidden if the script is not trusted.
func (t Trusts) Require(s Script) error {
	earlier, trusted, err := t.Of(s)
	if err != nil || trusted {
		return err
	}
	state := "is not trusted"
	if earlier != nil {
		state = "has changed since it was trusted"
		if s.Why != "" && s.NamedHash == hashOfNamed(earlier.Files, s.Path) {
			state = "is trusted with all files of the repository, and some have changed"
		}
	}
	verb := "coleo workspace trust"
	if s.Path == Check {
		verb += " --check"
	}
	return coleo.Errorf(coleo.EForbidden, "the project's %s %s: read and trust it with '%s'", s.Path, state, verb)
}

func hashOfNamed(files []File, path string) string {
	return Script{Path: path, Files: files}.hash("the named files")
}

// Trust stores that the user trusts a script. `hash` must be one of the script's two hashes. Otherwise Trust
// returns EStale. If the list of trusted scripts has no room, Trust returns EConflict.
func (t Trusts) Trust(s Script, hash string) error {
	if hash == "" || hash != s.Hash && hash != s.NamedHash {
		return coleo.Errorf(coleo.EStale, "%s does not have this hash: nothing is trusted; read it again with "+
			"'coleo workspace trust'", s.Path)
	}
	return t.change(func(all map[string]Trusted) error {
		all[s.key()] = Trusted{Hash: hash, Files: s.Files}
		return nil
	})
}

// Distrust ends the trust in the script at `path`. `repository` is the repository's common folder. Distrust
// returns ENotFound if the script was not trusted.
func (t Trusts) Distrust(repository, path string) error {
	key := Script{Repository: repository, Path: path}.key()
	return t.change(func(all map[string]Trusted) error {
		if _, known := all[key]; !known {
			return coleo.Errorf(coleo.ENotFound, "%s is not trusted: nothing was changed", path)
		}
		delete(all, key)
		return nil
	})
}

// change replaces the list by what `fn` makes of it. If several processes call change, they do so one after another.
func (t Trusts) change(fn func(map[string]Trusted) error) error {
	if t.File == "" {
		return coleo.Errorf(coleo.ENotFound, "there is no list of trusted scripts: nothing was changed")
	}
	unlock, err := wholefile.Lock(t.File + ".lock")
	if err != nil {
		return fmt.Errorf("write which scripts are trusted: %w", err)
	}
	defer unlock()
	all, err := t.read()
	if err != nil {
		return err
	}
	if err := fn(all); err != nil {
		return err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if len(data) >= maxTrustFile { // nobody could read the list again
		return coleo.Errorf(coleo.EConflict, "the list of trusted scripts, %s, would have more than %d MB: nothing is "+
			"trusted; end the trust in another project with 'coleo workspace trust --revoke'", t.File, maxTrustFile>>20)
	}
	if err := wholefile.Replace(t.File, append(data, '\n'), wholefile.OwnerOnly); err != nil {
		return fmt.Errorf("write which scripts are trusted: %w", err)
	}
	return nil
}

func (t Trusts) read() (map[string]Trusted, error) {
	all := map[string]Trusted{}
	if t.File == "" {
		return all, nil
	}
	data, err := config.ReadOwnAtMost(t.File, maxTrustFile)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read which scripts are trusted, in %s: %w", t.File, err)
	}
	return all, nil
}

// maxDiff is how much of a difference is shown, in bytes.
const maxDiff = 1 << 20

// Diff returns the difference between the script's trusted version and its present version, as text
// for people. If git has deleted the trusted content of a file, the text only names the file.
func (s Script) Diff(ctx context.Context, r *git.Repo, earlier Trusted) (string, error) {
	var out strings.Builder
	was := map[string]File{}
	for _, f := range earlier.Files {
		was[f.Path] = f
	}
	for _, f := range s.Files {
		old, ok := was[f.Path]
		delete(was, f.Path)
		switch {
		case !ok:
			fmt.Fprintf(&out, "New: %s (%s)\n", f.Path, f.Mode)
		case old.Mode != f.Mode:
			fmt.Fprintf(&out, "The mode of %s was %s and is %s.\n", f.Path, old.Mode, f.Mode)
		}
		if !ok || old.Blob == f.Blob {
			continue
		}
		text, err := r.Run(ctx, git.Call{Args: []string{"diff", old.Blob, f.Blob}, Most: maxDiff})
		var failed *git.Error
		switch {
		case errors.As(err, &failed):
			fmt.Fprintf(&out, "Changed: %s. The repository no longer has the earlier content.\n", f.Path)
		case err != nil && !errors.Is(err, git.ErrTooLarge):
			return "", err
		default:
			fmt.Fprintf(&out, "Changed: %s\n%s", f.Path, text)
		}
	}
	for path := range was {
		fmt.Fprintf(&out, "No longer among the files: %s\n", path)
	}
	return out.String(), nil
}
