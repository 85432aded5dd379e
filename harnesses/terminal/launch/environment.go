package launch

import (
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/holder"
)

// allowedEnv lists the variables of the user's environment that every agent CLI receives. A name
// that ends in _ is a prefix. An agent CLI also receives the variables in the credentials_env of
// its harness, but no other variables of the user's environment, not even Coleo's own.
var allowedEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_", "TZ", "TMPDIR", "XDG_",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY", "SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"SSH_AUTH_SOCK", "COLORTERM",
}

// hermeticEnv lists the variables of the user's environment that an agent CLI with ProfileHermetic
// receives.
var hermeticEnv = []string{"PATH", "LANG", "LC_", "TZ"}

func environment(c *coleo.SpawnConfig, credentials []string) map[string]string {
	allowed := append(slices.Clone(allowedEnv), credentials...)
	if c.Profile == coleo.ProfileHermetic {
		allowed = hermeticEnv
	}
	env := map[string]string{"TERM": "xterm-256color"}
	var elsewhere []string // variables that name things outside of the sandbox
	if c.Sandbox.On() {
		elsewhere = append(elsewhere, outsideEnv...)
	}
	if c.Sandbox.Container() {
		elsewhere = append(elsewhere, imageEnv...)
	}
	for _, kv := range c.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if hasVariable(allowed, name) && !hasVariable(elsewhere, name) {
			env[name] = value
		}
	}
	if c.Profile == coleo.ProfileHermetic {
		env["HOME"] = c.Home
	}
	return env
}

// NamedFolder returns the folder that a variable names for an agent CLI that is started with the given Launch. It
// returns "" if the variable names none, or if `variable` is "".
func NamedFolder(l holder.Launch, variable string) string {
	named := lookupEnv(l.Env, variable)
	if variable == "" || named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(l.Workdir, named)
}

func lookupEnv(environ []string, name string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func flatten(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
