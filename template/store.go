package template

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/policy/files"
)

const (
	// ProjectFolder is the folder of a project's templates.
	ProjectFolder = ".coleo/templates"
	// suffix is the end of the name of a template's file.
	suffix = ".toml"
	// maxSize is the largest size of a template, in bytes. Even a long prompt has only a few
	// thousand bytes.
	maxSize = 256 << 10
	// mostFiles is the largest number of templates in one folder.
	mostFiles = 500
)

// nameForm matches a valid name of a template. The name of the file is this name and the suffix.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Store defines where templates are.
type Store struct {
	User      string     // the folder of the user's own templates
	TrustFile files.List // the list of the project templates that the user trusts
}

// Found is a template's file.
type Found struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Project bool   `json:"project"` // whether the template came with a project
	Hash    string `json:"sha256"`  // the hash of the content
	// Trusted means that the template may be used. The user's own templates are always trusted.
	Trusted bool `json:"trusted"`
	Changed bool `json:"changed,omitempty"` // whether the user has trusted another content of the file, but not this one
	// Hidden means that another template with the same name is used instead.
	Hidden  bool   `json:"hidden,omitempty"`
	Fault   string `json:"fault,omitempty"` // why the template cannot be used, in one line
	Content string `json:"content,omitempty"`
	// Template is the content of the file. If there is a fault, Template is empty.
	Template Template `json:"template"`
}

// List returns the user's templates, and then the templates of the projects that contain the work folder. The
// templates of one folder are sorted by name. A template hides later ones with the same name. The list also
// contains the files that cannot be used. Their field Fault says why.
func (s Store) List(workdir string) ([]Found, error) {
	real, err := filepath.EvalSymlinks(workdir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, coleo.Errorf(coleo.EInvalid, "the folder %s does not exist", workdir)
	}
	out, err := s.templatesIn(s.User, false)
	if err != nil {
		return nil, err
	}
	for _, dir := range files.ProjectFolders(real) {
		more, err := s.templatesIn(filepath.Join(dir, ProjectFolder), true)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	seen := map[string]bool{}
	for i := range out {
		out[i].Hidden = seen[out[i].Name]
		seen[out[i].Name] = true
	}
	return out, nil
}

// templatesIn returns the templates of a folder, sorted by name.
func (s Store) templatesIn(dir string, project bool) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Found
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), suffix)
		if !ok || !nameForm.MatchString(name) {
			continue
		}
		if len(out) == mostFiles {
			return nil, coleo.Errorf(coleo.EInvalid, "%s has more than %d templates: move some away", dir, mostFiles)
		}
		f, err := s.read(Found{Name: name, Path: filepath.Join(dir, entry.Name()), Project: project})
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// read reads the file of a template. It returns an error only if it cannot read the list of trusted
// files.
func (s Store) read(f Found) (Found, error) {
	var data []byte
	var err error
	if f.Project {
		if data, err = files.ReadProject(f.Path); err == nil && len(data) > maxSize {
			err = coleo.Errorf(coleo.EInvalid, "%s has more than %d bytes: make it smaller", f.Path, maxSize)
		}
	} else {
		data, err = config.ReadOwnAtMost(f.Path, maxSize)
	}
	if err == nil {
		f.Content, f.Hash = string(data), files.HashOf(data)
		f.Template, err = Parse(f.Path, data)
	}
	if err == nil && f.Project && f.Template.YesWithoutSandbox {
		f.Template, err = Template{}, config.Errorf(f.Path, data, "yes_without_sandbox",
			"yes_without_sandbox works only in your own templates: leave it out; the flag --yes-without-sandbox does the same")
	}
	if err != nil {
		f.Fault = err.Error()
	}
	if f.Trusted = !f.Project; f.Trusted {
		return f, nil
	}
	trusted, err := s.TrustFile.Hash(f.Path)
	f.Trusted, f.Changed = f.Hash != "" && trusted == f.Hash, trusted != "" && trusted != f.Hash
	return f, err
}

// Find returns the template with the given name, for an arm in a work folder. It returns ENotFound
// if there is no such template.
func (s Store) Find(name, workdir string) (Found, error) {
	all, err := s.List(workdir)
	if err != nil {
		return Found{}, err
	}
	if at := slices.IndexFunc(all, func(f Found) bool { return f.Name == name }); at >= 0 {
		return all[at], nil
	}
	return Found{}, coleo.Errorf(coleo.ENotFound,
		"there is no template %q in %s or in %s of the project: 'coleo template list' "+
			"lists them; nothing was started", name, s.User, ProjectFolder)
}

// Use returns a template that may be used. It returns EForbidden if the template came with a
// project and is not trusted. It returns EInvalid if the template's file is wrong.
func (s Store) Use(name, workdir string) (Found, error) {
	f, err := s.Find(name, workdir)
	switch {
	case err != nil:
		return Found{}, err
	case !f.Trusted:
		why := "came with the project, and you do not trust it"
		if f.Changed {
			why = "has changed since you trusted it"
		}
		return Found{}, coleo.Errorf(coleo.EForbidden,
			"the template %s (%s) %s: nothing was started; 'coleo template show %s' shows "+
				"it, and how to trust it", name, f.Path, why, name)
	case f.Fault != "":
		return Found{}, coleo.Errorf(coleo.EInvalid, "%s; nothing was started", f.Fault)
	}
	return f, nil
}

// Trust stores that the user trusts the content of a project's template. `hash` is the hash of the content
// that the user has seen. Trust returns EStale if the file now has other content, and EInvalid if the
// template cannot be used.
func (s Store) Trust(f Found, hash string) (Found, error) {
	now, err := s.read(f)
	switch {
	case err != nil:
		return f, err
	case !f.Project:
		return f, coleo.Errorf(coleo.EInvalid, "the template %s is your own, so it needs no trust", f.Name)
	case now.Fault != "":
		return f, coleo.Errorf(coleo.EInvalid, "%s; nothing is trusted", now.Fault)
	case now.Hash != hash:
		return f, coleo.Errorf(coleo.EStale, "%s does not have this hash: nothing is trusted; read it again with "+
			"'coleo template show %s'", f.Path, f.Name)
	}
	now.Trusted, now.Changed = true, false
	return now, s.TrustFile.Set(now.Path, hash)
}

// Distrust removes the user's trust in a project's template. It returns ENotFound if the template
// was not trusted.
func (s Store) Distrust(f Found) error {
	trusted, err := s.TrustFile.Hash(f.Path)
	if err != nil {
		return err
	}
	if trusted == "" {
		return coleo.Errorf(coleo.ENotFound, "%s is not trusted: nothing was changed", f.Path)
	}
	return s.TrustFile.Forget(f.Path)
}
