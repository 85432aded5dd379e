package launch

import (
	"cmp"
	"path/filepath"
	"slices"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
)

// hookFacts describes the hook for the templates of a Part.
type hookFacts struct {
	Program string
	Args    []string
	Events  []string
}

// Argv returns the hook's command line.
func (h *hookFacts) Argv() []string { return append([]string{h.Program}, h.Args...) }

// hookFor returns the hook for the agent CLI. It returns nil in these cases:
//
//   - The agent CLI supports no hook.
//   - The hook program does not exist.
//   - The user has a hook, and Coleo's hook cannot start it.
func hookFor(s *rules.Spec, c *coleo.SpawnConfig, program []string) *hookFacts {
	if len(s.Hook.Reports) == 0 || len(program) == 0 || !executable(program[0]) {
		return nil
	}
	h := &hookFacts{Program: program[0], Args: append(slices.Clone(program[1:]), hook.Path(c.Dir)),
		Events: s.Hook.Events()}
	if text, has := readUserHook(&s.Hook.UserHook, c); has {
		theirs, err := config.Strings(text, s.Hook.UserHook.Key)
		if err != nil || len(theirs) == 0 {
			return nil
		}
		h.Args = append(append(h.Args, hook.Then), theirs...)
	}
	return h
}

// readUserHook returns the content of the user's file that u describes, and whether this file names a
// hook.
func readUserHook(u *rules.UserHook, c *coleo.SpawnConfig) (text []byte, has bool) {
	if u.Pattern == "" {
		return nil, false
	}
	text = []byte(readSettings(filepath.Join(userFolder(c, u.FolderEnv, filepath.Join(Home(c), u.Folder)), u.File)))
	return text, len(text) > 0 && u.In(text)
}

// userFolder returns the folder that a variable of the agent CLI names, or `usual` if it names none. `variable` can
// be "". The arm's own variables replace those of the user.
func userFolder(c *coleo.SpawnConfig, variable, usual string) string {
	named, given := c.Env[variable]
	if !given && variable != "" && c.Profile != coleo.ProfileHermetic {
		named = lookupEnv(c.Environ, variable)
	}
	return cmp.Or(named, usual)
}

// HookCommand returns the command line of the hook program. holdCommand is the command line that
// starts a holder. HookCommand returns nil if holdCommand is not a command of Coleo itself.
func HookCommand(holdCommand []string) []string {
	if len(holdCommand) == 3 && filepath.IsAbs(holdCommand[0]) && holdCommand[1] == "hold" {
		return []string{holdCommand[0], hook.Verb}
	}
	return nil
}
