package rules

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/config"
)

// layBase fills s with the keys of the base, if the file names a base. It returns the rules and
// dialogs of the base separately, and removes them from s. A base cannot have a base of its own.
func (s *Spec) layBase(file string, data []byte, bases func(name string) []byte) (under Spec, err error) {
	own := &Spec{}
	if err := config.Decode(file, data, own); err != nil || own.Base == "" {
		return under, err
	}
	var base []byte
	if bases != nil {
		base = bases(own.Base)
	}
	if base == nil {
		return under, config.Errorf(file, data, "base", "base %q is no built-in harness", own.Base)
	}
	if err := config.Decode(own.Base+"/harness.toml", base, s); err != nil {
		return under, err
	}
	s.Launch.renameEnv(own.Launch.RenameEnv)
	under.Rules, under.Dialogs, under.Modes = s.Rules, s.Dialogs, s.Modes
	s.Rules, s.Dialogs, s.Modes = nil, nil, nil
	return under, nil
}

// inherit appends the rules and dialogs of a base to those of s. It leaves out a rule
// or dialog of the base if s has one with the same name.
func (s *Spec) inherit(under Spec) {
	for _, r := range under.Rules {
		if !slices.ContainsFunc(s.Rules, func(own Rule) bool { return own.Name == r.Name }) {
			s.Rules = append(s.Rules, r)
		}
	}
	for _, d := range under.Dialogs {
		if !slices.ContainsFunc(s.Dialogs, func(own DialogRule) bool { return own.Name == d.Name }) {
			s.Dialogs = append(s.Dialogs, d)
		}
	}
	s.Limits = append(s.Limits, under.Limits...)
	for _, m := range under.Modes {
		if s.Mode(m.ID) == nil {
			s.Modes = append(s.Modes, m)
		}
	}
}

// renameEnv renames the environment variables of a base. Each key of names is the beginning of an
// old name. The value of the key is the beginning of the new name.
func (l *Launch) renameEnv(names map[string]string) {
	rename := func(name string) string {
		for from, to := range names {
			if rest, ok := strings.CutPrefix(name, from); ok {
				return to + rest
			}
		}
		return name
	}
	l.CredentialsEnv = slices.Clone(l.CredentialsEnv)
	for i, name := range l.CredentialsEnv {
		l.CredentialsEnv[i] = rename(name)
	}
	for i := range l.Parts {
		env := map[string]string{}
		for name, value := range l.Parts[i].Env {
			env[rename(name)] = value
		}
		l.Parts[i].Env = env
	}
}

// support checks the level of support that a harness claims. A harness with less than
// full support must say what is missing.
func (c *compiler) support(s *Spec) {
	if s.Support == "" {
		s.Support = string(coleo.SupportFull)
	}
	known := []coleo.Support{coleo.SupportFull, coleo.SupportPartial, coleo.SupportDeclared}
	switch full := s.Support == string(coleo.SupportFull); {
	case !slices.Contains(known, coleo.Support(s.Support)):
		c.fail("support", "support must be one of %v, not %q", known, s.Support)
	case full != (len(s.Missing) == 0):
		c.fail("support", "support %q: missing must say what is missing, and only then", s.Support)
	}
}
