package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/policy/commandline"
	"coleo.dev/policy/reading"
	"coleo.dev/printable"
)

// machine is this machine as a command of the agent CLI sees it: with the agent CLI's environment.
type machine struct {
	reading.Here
	env map[string]string
}

// machineOf returns the machine for the commands of an arm. It returns an error if their
// environment is not known.
func machineOf(a Arm) (machine, error) {
	m := machine{env: map[string]string{}}
	if len(a.Config.Wrap) > 0 {
		return m, fmt.Errorf("the arm runs in a wrapper, which may change what a command does")
	}
	environ, err := a.Environ()
	if err != nil {
		return m, fmt.Errorf("the environment of the agent CLI is not known: %w", err)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if _, again := m.env[name]; again {
			return m, fmt.Errorf("the agent CLI has the variable %s twice", printable.Text(name))
		}
		m.env[name] = value
	}
	for name := range m.env {
		if changesCommands(name) {
			return m, fmt.Errorf("the agent CLI has the variable %s, which changes what commands do", printable.Text(name))
		}
	}
	return m, nil
}

// commandVariables are variables that change what a command means to a shell or a program. A name that
// ends in _ is a prefix.
var commandVariables = []string{"BASH_ENV", "ENV", "ZDOTDIR", "LD_", "BASH_FUNC_", "CDPATH", "GLOBIGNORE",
	"POSIXLY_CORRECT",
	"SHELLOPTS", "BASHOPTS", "IFS", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "DYLD_", "EXECIGNORE", "PROMPT_COMMAND",
	"POSIX_ME_HARDER", "BLOCK_SIZE", "GCONV_PATH", "LOCPATH", "TZDIR", "GLIBC_TUNABLES"}

func changesCommands(variable string) bool {
	return slices.ContainsFunc(commandVariables, func(name string) bool {
		return name == variable || strings.HasSuffix(name, "_") && strings.HasPrefix(variable, name)
	})
}

// Env returns a variable of the agent CLI.
func (m machine) Env(name string) string { return m.env[name] }

// Program returns the resolved path of the program that a shell of the agent CLI starts.
func (m machine) Program(name string) (string, error) {
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q is not the name of a program", name)
	}
	for _, dir := range filepath.SplitList(m.env["PATH"]) {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("PATH has the folder %q, which is not absolute", dir)
		}
		path := filepath.Join(dir, name)
		if isProgram(path) {
			return filepath.EvalSymlinks(path)
		}
	}
	return "", fmt.Errorf("PATH has no program %s", name)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// shell returns the shell that runs the agent CLI's commands. It returns an error if the shell is
// not known.
func (m machine) shell(rule coleo.ShellRule) (commandline.Shell, error) {
	for _, name := range rule.Unless {
		if _, set := m.env[name]; set {
			return "", fmt.Errorf("the agent CLI has the variable %s, so the shell of its commands is not known", name)
		}
	}
	for _, name := range rule.Env {
		path, set := m.env[name]
		if !set {
			continue
		}
		shell, known := commandline.ShellOf(path)
		if !known || !slices.Contains(rule.Names, filepath.Base(path)) || !filepath.IsAbs(path) || !isProgram(path) {
			return "", fmt.Errorf("%s names %q, which is not a shell that is judged", name, printable.Text(path))
		}
		return shell, nil
	}
	return "", fmt.Errorf("the shell of the agent CLI's commands is not known")
}
