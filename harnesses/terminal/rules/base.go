package rules

import (
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/printable"
)

// layBase fills s with the keys of the file's base: the built-in harness that the key `base` names.
// Without this key, layBase does nothing.
//
// The method `inherit` later merges the rules, dialogs, limits, modes and asks of the base with those
// of the file. So layBase moves these lists of the base from s to `under`. A base cannot have a base of
// its own.
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
		return under, config.Errorf(file, data, "base", "base %q is not a built-in harness", own.Base)
	}
	if err := config.Decode(own.Base+"/harness.toml", base, s); err != nil {
		return under, err
	}
	s.renameEnv(own.Launch.RenameEnv)
	under.Rules, under.Dialogs, under.Limits, under.Modes, under.Asks = s.Rules, s.Dialogs, s.Limits, s.Modes, s.Asks
	s.Rules, s.Dialogs, s.Limits, s.Modes, s.Asks = nil, nil, nil, nil, nil
	return under, nil
}

// inherit appends the rules, dialogs, limits, modes and asks of a base to those of s. It skips a rule,
// dialog, mode or ask if s already has one with the same name. It also appends s.Launch.More, the
// further parts of the file, to s.Launch.Parts, the parts of the base.
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
	for _, a := range under.Asks {
		if !slices.ContainsFunc(s.Asks, func(own coleo.Ask) bool { return own.Name == a.Name }) {
			s.Asks = append(s.Asks, a)
		}
	}
	s.Launch.Parts = append(s.Launch.Parts, s.Launch.More...)
}

// renameEnv renames the environment variables of a base, including those in `[[setting]]` and `[[asks]]`.
// The parameter `names` maps each old prefix to the new one.
func (s *Spec) renameEnv(names map[string]string) {
	for _, list := range []*[]string{&s.Launch.CredentialsEnv, &s.Launch.EndpointEnv} {
		*list = slices.Clone(*list)
		for i, name := range *list {
			(*list)[i] = renamed(name, names)
		}
	}
	for i := range s.Launch.Parts {
		s.Launch.Parts[i].Env = renamedKeys(s.Launch.Parts[i].Env, names)
	}
	for i := range s.Settings {
		s.Settings[i].Env = renamedKeys(s.Settings[i].Env, names)
	}
	for i := range s.Asks {
		s.Asks[i].Env = renamedKeys(s.Asks[i].Env, names)
	}
}

// renamedKeys returns a copy of an environment with new names.
func renamedKeys[V any](env map[string]V, names map[string]string) map[string]V {
	out := make(map[string]V, len(env))
	for name, value := range env {
		out[renamed(name, names)] = value
	}
	return out
}

func renamed(name string, names map[string]string) string {
	for from, to := range names {
		if rest, ok := strings.CutPrefix(name, from); ok {
			return to + rest
		}
	}
	return name
}

// support checks the level of support that a harness claims. A harness with less than full support must
// list what is missing.
func (c *compiler) support(s *Spec) {
	if s.Support == "" {
		s.Support = string(coleo.SupportFull)
	}
	known := []coleo.Support{coleo.SupportFull, coleo.SupportPartial, coleo.SupportDeclared}
	switch full := s.Support == string(coleo.SupportFull); {
	case !slices.Contains(known, coleo.Support(s.Support)):
		c.fail("support", "support must be one of %s, not %q", printable.List(known), s.Support)
	case full != (len(s.Missing) == 0):
		c.fail("support", "support %q: set the key missing if the support is not full, and leave it out if it is full",
			s.Support)
	}
}
