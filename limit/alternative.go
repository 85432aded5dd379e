package limit

import (
	"slices"

	"coleo.dev"
)

// helps lists the kinds of limit against which each alternative may help. Another model of the same
// harness does not help if the login, the network or a full context is the limit. Such a model uses
// the same login and network, and its context can be just as short.
var helps = map[coleo.LimitAction][]coleo.LimitKind{
	coleo.LimitModel:    {coleo.LimitRate, coleo.LimitQuota, coleo.LimitOverload},
	coleo.LimitHandover: {coleo.LimitRate, coleo.LimitQuota, coleo.LimitLogin, coleo.LimitContext},
}

// alternatives returns those steps of `on`, the setting on_limit, that may help against a kind of limit and
// that the arm has not tried yet.
func alternatives(kind coleo.LimitKind, on, tried coleo.OnLimit) coleo.OnLimit {
	done := tried.Steps()
	return coleo.OnLimitOf(slices.DeleteFunc(on.Steps(), func(s coleo.LimitStep) bool {
		return slices.Contains(done, s) || !slices.Contains(helps[s.Do], kind)
	}))
}

// First returns the next alternative to try. It returns false if no alternative is left.
func First(p coleo.Parked) (coleo.LimitStep, bool) {
	list := p.Next.Steps()
	if len(list) == 0 {
		return coleo.LimitStep{}, false
	}
	return list[0], true
}

// AfterTry returns the new Parked of an arm that has tried the first alternative of p. If the attempt failed,
// `failed` is the reason; otherwise it is "".
func AfterTry(p coleo.Parked, failed string) coleo.Parked {
	list := p.Next.Steps()
	if len(list) == 0 {
		return p
	}
	p.Tried = coleo.OnLimitOf(append(p.Tried.Steps(), list[0]))
	p.Next, p.Doing = coleo.OnLimitOf(list[1:]), ""
	if p.Failed = ""; failed != "" {
		p.Failed = list[0].String() + " could not be done: " + failed
	}
	return p
}

// MayCost returns EConflict if the fallback policy forbids a change between models with the given
// prices. A nil price is unknown. Only the policy "any" allows a change if one of the prices is
// unknown.
func MayCost(policy coleo.FallbackStrategy, from, to *coleo.Price) error {
	switch {
	case policy == "" || policy == coleo.FallbackAny:
		return nil
	case to == nil || from == nil:
		return coleo.Errorf(coleo.EConflict, "the fallback policy %s allows no model whose price is unknown", policy)
	case policy == coleo.FallbackSamePrice && (to.Input != from.Input || to.Output != from.Output):
		return coleo.Errorf(coleo.EConflict, "its price differs, and the fallback policy is %s", policy)
	case to.Input > from.Input || to.Output > from.Output:
		return coleo.Errorf(coleo.EConflict, "it costs more, and the fallback policy is %s", policy)
	}
	return nil
}
