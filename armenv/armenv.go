// Package armenv says which environment variables a user may give to an arm.
package armenv

import (
	"maps"
	"slices"
	"strings"

	"coleo.dev"
)

// Limits for the environment variables that a user gives to an arm.
const (
	// maxEnvValue is the maximum length of one value, in bytes. Linux does not start a
	// program with a string of more than 128 KiB.
	maxEnvValue = 64 << 10
	// maxEnv is the maximum total length of all names and values, in bytes. All of them must fit
	// into one request to the API, which can have at most 1 MiB.
	maxEnv = 256 << 10
)

// reservedEnv contains the variables that users must not give to an arm, each with the reason. A
// name that ends in _ stands for all names that begin with it.
var reservedEnv = map[string]string{
	"COLEO_":         "Coleo uses it itself",
	"LD_":            "it changes which code the loader runs",
	"DYLD_":          "it changes which code the loader runs",
	"GLIBC_TUNABLES": "it changes how the loader works",
	"TERM":           "the arm's terminal is Coleo's own",
	"COLUMNS":        "the arm's terminal has its size from Coleo",
	"LINES":          "the arm's terminal has its size from Coleo",
	"HOME":           "the profile decides it: see --profile and --home",
	"PWD":            "the work folder decides it",
}

// CheckName returns coleo.EInvalid if users are not allowed to give an arm a variable with
// this name.
func CheckName(name string) error {
	if !isEnvName(name) {
		return coleo.Errorf(coleo.EInvalid,
			"%q cannot name an environment variable: use letters, digits and '_', beginning with a letter or '_'", name)
	}
	for _, reserved := range slices.Sorted(maps.Keys(reservedEnv)) {
		if name == reserved || strings.HasSuffix(reserved, "_") && strings.HasPrefix(name, reserved) {
			return coleo.Errorf(coleo.EInvalid, "the environment variable %s cannot be given to an arm: %s", name,
				reservedEnv[reserved])
		}
	}
	return nil
}

func isEnvName(name string) bool {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Check returns coleo.EInvalid if users are not allowed to give an arm the variables in `env`. The error shows names
// of variables, but no values, because values can be secrets.
func Check(env map[string]string) error {
	size := 0
	for _, name := range Names(env) {
		value := env[name]
		if err := CheckName(name); err != nil {
			return err
		}
		if strings.ContainsRune(value, 0) {
			return coleo.Errorf(coleo.EInvalid,
				"the value of the environment variable %s contains a zero byte, which no program can receive", name)
		}
		if len(value) > maxEnvValue {
			return coleo.Errorf(coleo.EInvalid,
				"the value of the environment variable %s has %d bytes, and %d are allowed", name, len(value), maxEnvValue)
		}
		size += len(name) + len(value)
	}
	if size > maxEnv {
		return coleo.Errorf(coleo.EInvalid, "the environment variables have %d bytes together, and %d are allowed",
			size, maxEnv)
	}
	return nil
}

// Names returns the names of the variables, sorted, or nil if there are none.
func Names(env map[string]string) []string {
	return slices.Sorted(maps.Keys(env))
}
