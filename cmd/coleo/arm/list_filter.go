package arm

import (
	"cmp"
	"slices"
	"strings"

	"coleo.dev"
)

// armOrders maps each value of --sort to its comparison function.
var armOrders = map[string]func(a, b coleo.Arm) int{
	"need":    func(a, b coleo.Arm) int { return cmp.Compare(needRank(a), needRank(b)) },
	"name":    func(coleo.Arm, coleo.Arm) int { return 0 }, // always equal, so the names decide
	"age":     func(a, b coleo.Arm) int { return b.LastOutputAt.Compare(a.LastOutputAt) },
	"cost":    func(a, b coleo.Arm) int { return cmp.Compare(b.TotalCost, a.TotalCost) },
	"harness": func(a, b coleo.Arm) int { return strings.Compare(a.Harness, b.Harness) },
}

func needRank(arm coleo.Arm) int {
	need, _ := arm.Need()
	return slices.Index(coleo.Needs(), need)
}

// needFlag returns a need in the form in which the user writes it in a flag. In this
// form, blanks are replaced by "-".
func needFlag(n coleo.Need) string { return strings.ReplaceAll(string(n), " ", "-") }

// picker returns a function that selects and sorts arms as the flags demand. That
// function sorts equal arms by name. If a flag has a bad value, picker returns
// EInvalid.
func (f listFlags) picker() (func([]coleo.Arm) []coleo.Arm, error) {
	order, ok := armOrders[f.sort]
	if !ok {
		return nil, coleo.Errorf(coleo.EInvalid, "--sort=%s: sort by need, name, age, cost or harness", f.sort)
	}
	for _, word := range f.states {
		if err := checkStateWord(word); err != nil {
			return nil, err
		}
	}
	return func(list []coleo.Arm) []coleo.Arm {
		rows := slices.DeleteFunc(slices.Clone(list), func(arm coleo.Arm) bool { return !f.picks(arm) })
		slices.SortFunc(rows, func(a, b coleo.Arm) int {
			if c := order(a, b); c != 0 {
				return c
			}
			if coleo.NameLess(a.Name, b.Name) {
				return -1
			}
			return 1
		})
		return rows
	}, nil
}

func checkStateWord(word string) error {
	isNeed := slices.ContainsFunc(coleo.Needs(), func(n coleo.Need) bool { return needFlag(n) == word })
	if isNeed || coleo.State(word).Valid() {
		return nil
	}
	return coleo.Errorf(coleo.EInvalid, "--state=%s: use needs-you, working, idle, ended, or one of the states %v",
		word, coleo.States())
}

func (f listFlags) picks(arm coleo.Arm) bool {
	need, _ := arm.Need()
	asked := slices.Contains(f.states, needFlag(need)) || slices.Contains(f.states, string(arm.State))
	switch {
	case len(f.states) > 0 && !asked:
		return false
	case len(f.harnesses) > 0 && !slices.Contains(f.harnesses, arm.Harness):
		return false
	}
	return f.all || asked || need != coleo.NeedEnded
}
