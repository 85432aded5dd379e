package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coleo.dev"
)

// maxLimits bounds the number of limits: a few wordings for each kind.
const maxLimits = 30

// LimitRule says how an agent CLI words one limit of its model.
type LimitRule struct {
	// The kind of the limit: `rate` for too many requests, `quota` for a plan that is used
	// up, `overload` for servers that are busy, `network` for servers that cannot be reached,
	// `login` for a login or a key that is not accepted, and `context` for a conversation
	// that is too long. The key is required.
	Kind string `toml:"kind"`
	// The regular expression that finds the limit in the error, such as `429`. Coleo joins
	// the lines of the error with blanks. The key is required.
	Pattern patternText `toml:"pattern"`

	pattern *regexp.Regexp
}

// limits checks the limits of a Spec.
func (c *compiler) limits(s *Spec) {
	c.atMost("limit", len(s.Limits), maxLimits)
	for i := range s.Limits {
		l, path := &s.Limits[i], fmt.Sprintf("limit[%d]", i)
		if !slices.Contains(coleo.LimitKinds(), coleo.LimitKind(l.Kind)) {
			c.fail(path, "a limit needs a kind, one of %q, not %q", coleo.LimitKinds(), l.Kind)
		}
		if l.pattern = c.regexp(path+".pattern", l.Pattern); l.pattern == nil {
			c.fail(path, "the limit %q needs a pattern", l.Kind)
		}
	}
	if s.LimitWhere == "" {
		return
	}
	where, err := parseRegion(s.LimitWhere)
	if err != nil {
		c.fail("limit_where", "limit_where: %v", err)
	}
	s.limitWhere = where
}

// LimitIn returns the kind of the limit that an error tells of. It returns false if the
// error tells of none. The parameter text is the error in one line.
func (s *Spec) LimitIn(text string) (coleo.LimitKind, bool) {
	for _, l := range s.Limits {
		if l.pattern.MatchString(text) {
			return coleo.LimitKind(l.Kind), true
		}
	}
	return "", false
}

// ErrorOn returns the error of a turn that a picture shows, in one line. It returns "" if
// the Spec does not say where the screen shows errors.
func (s *Spec) ErrorOn(p *Picture) string {
	if s.LimitWhere == "" {
		return ""
	}
	rows, _ := p.region(s.limitWhere)
	return strings.Join(strings.Fields(strings.Join(rows, " ")), " ")
}
