// Package awk judges whether a script of awk only calculates and prints. A script must also end, and must not
// fill the memory of the machine.
//
// A script that prints fields of selected lines is recognized as a whole. Any other script is divided into
// words, and its statements are read one by one. The package refuses what it does not know, and what different
// awk programs understand differently.
package awk

import (
	"regexp"

	"coleo.dev/policy/reading/lengthening"
)

// simpleScript matches a simple awk script that prints fields of selected lines. It matches no functions,
// pipes, files or variables of the environment.
var simpleScript = func() *regexp.Regexp {
	const field = `(\$[0-9]{1,3}|\$NF|NF|NR|FNR|FILENAME|"[^"\\\n]*")`
	const compare = `((NR|FNR)(\s*%\s*[0-9]+)?|NF|\$[0-9]{1,3}|length(\(\$0\))?)\s*` +
		`(==|!=|>=|<=|>|<)\s*([0-9]+|"[^"\\\n]*")`
	const matches = `/([^][/\\\n]|` + lengthening.Bracketed + `)*/`
	const pattern = `(END|` + matches + `|` + compare + `(\s*(&&|\|\|)\s*` + compare + `)*)`
	return regexp.MustCompile(`^\s*(` + pattern + `(\s*,\s*` + pattern + `)?)?\s*(\{\s*print(\s+` + field + `(\s*,?\s*` +
		field + `)*)?\s*;?\s*\})?\s*$`)
}()

// longestSimple is the largest size of a script that simpleScript may accept, in bytes. A longer script could
// print the same line very often.
const longestSimple = 200

// Check returns an error if an awk script can do more than calculate and print. Each entry of `given` is a
// NAME=VALUE that the command sets with -v.
func Check(script string, given []string) error {
	if len(script) <= longestSimple && simpleScript.MatchString(script) {
		return nil
	}
	return readScript(script, given)
}
