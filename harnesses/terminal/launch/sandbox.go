package launch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coleo.dev"
	"coleo.dev/config"
	"coleo.dev/harnesses/terminal/rules"
	"coleo.dev/hook"
	"coleo.dev/paths"
	"coleo.dev/sandbox"
	"coleo.dev/sandbox/limits"
)

// outsideEnv lists variables that name folders and sockets outside of a sandbox. A sandboxed agent
// CLI does not receive them from the user's environment.
var outsideEnv = []string{"TMPDIR", "XDG_", "SSH_AUTH_SOCK"}

// addSandbox adds the command line of the arm's sandbox to argv, between the wrapper in c.Wrap and the
// agent CLI. It returns argv unchanged if the arm has no sandbox. The parameter `hookCommand` is the
// command line of the hook program.
func addSandbox(s *rules.Spec, c *coleo.SpawnConfig, hookCommand, argv []string,
	env map[string]string) ([]string, error) {
	if err := c.Sandbox.Check(); err != nil || !c.Sandbox.On() {
		return argv, err
	}
	switch named := slices.IndexFunc(s.Launch.Sandbox.FolderEnv, func(name string) bool { return env[name] != "" }); {
	case s.Transport == string(coleo.TransportHTTP) || len(s.Launch.Sandbox.Writable) == 0:
		return nil, coleo.Errorf(coleo.EUnsupported, "%s was not started: nobody has said which of its files it needs in a "+
			"sandbox; without a sandbox it runs as you", s.Title)
	case named >= 0:
		return nil, coleo.Errorf(coleo.EUnsupported, "%s was not started: %s names another folder for its files, and a "+
			"sandbox has only the usual ones: unset it", s.Title, s.Launch.Sandbox.FolderEnv[named])
	case len(hookCommand) == 0:
		return nil, coleo.Errorf(coleo.EUnsupported, "%s was not started: a sandbox needs the holder program of Coleo",
			s.Title)
	}
	if c.Sandbox.Container() {
		argv, err := addContainer(s, c, hookCommand[0], argv, env)
		if err != nil {
			return nil, coleo.Errorf(coleo.ErrorCode(err), "%s was not started: %w", s.Title, err)
		}
		return argv, nil
	}
	search := filepath.SplitList(env["PATH"])
	bwrap, err := sandbox.Find(filepath.SplitList(lookupEnv(c.Environ, "PATH")))
	if err != nil {
		return nil, coleo.Errorf(coleo.EUnsupported, "%s was not started: %w", s.Title, err)
	}
	box, err := boxOf(s, c, argv[len(c.Wrap)], search)
	if err != nil {
		return nil, err
	}
	if c.Sandbox.Network.Filtered() {
		if box.Network, err = networkFile(s, c, env); err != nil {
			return nil, err
		}
	}
	if err := limitBox(&box, c); err != nil {
		return nil, coleo.Errorf(coleo.EUnsupported, "%s was not started: %w", s.Title, err)
	}
	return slices.Insert(argv, len(c.Wrap), box.Argv(sandbox.Programs{Bwrap: bwrap, Coleo: hookCommand[0]})...), nil
}

// limitBox adds the arm's limits to its sandbox. It also notes in the configuration which mechanism
// enforces these limits.
func limitBox(box *sandbox.Box, c *coleo.SpawnConfig) error {
	wanted, err := c.Sandbox.Limit.Parse()
	if err != nil {
		return err
	}
	if box.Limits, err = limits.Plan(wanted); err != nil {
		return err
	}
	noted := *c.Sandbox // a copy, because other configurations share the pointer
	noted.LimitedBy = box.Limits.String()
	c.Sandbox = &noted
	return nil
}

// boxOf returns the files and folders that the agent CLI sees in its sandbox. binaryPath is the
// path of the agent CLI's program.
func boxOf(s *rules.Spec, c *coleo.SpawnConfig, binaryPath string, search []string) (sandbox.Box, error) {
	box := sandbox.Box{Workdir: c.Workdir, Home: filepath.Clean(Home(c)),
		Offline: c.Sandbox.Network == coleo.NetworkNone && !c.OwnNetwork}
	if err := addFolder(&box, c); err != nil {
		return box, err
	}
	box.System, box.Hidden = sandbox.System()
	if err := addOwnFiles(&box, s, c); err != nil {
		return box, err
	}
	programs := []string{binaryPath}
	for _, m := range c.MCPServers {
		programs = append(programs, m.Command)
	}
	for _, path := range programs {
		places, err := sandbox.ProgramFiles(path, search, box.Writable)
		if err != nil {
			return box, err
		}
		box.Readable = append(box.Readable, places...)
	}
	return box, nil
}

// addOwnFiles adds the files that the agent CLI uses besides the work folder: Coleo's files, and the
// agent CLI's own files below HOME.
func addOwnFiles(box *sandbox.Box, s *rules.Spec, c *coleo.SpawnConfig) error {
	for _, dir := range c.Reached {
		box.Readable = append(box.Readable, sandbox.Place{Path: dir})
	}
	own, err := ownFiles(c)
	if err != nil {
		return err
	}
	box.Writable = append(box.Writable, own...)
	return homeFiles(box, s.Launch.Sandbox)
}

// addFolder adds the arm's work folder to the sandbox. It returns EInvalid if this folder contains
// something that must stay outside, such as the user's HOME.
func addFolder(box *sandbox.Box, c *coleo.SpawnConfig) error {
	if !filepath.IsAbs(box.Home) || box.Home == "/" {
		return coleo.Errorf(coleo.EInvalid, "a sandbox needs HOME, and it is %q: nothing was started", box.Home)
	}
	named := cmp.Or(c.Sandbox.Folder, c.Workdir)
	folder, err := filepath.EvalSymlinks(named)
	if err != nil {
		return coleo.Errorf(coleo.EInvalid, "the work folder cannot be used: %v", err)
	}
	for _, outside := range outsideFolders(box.Home, c) {
		path := outside.path
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		verb := ""
		if outside.whole && paths.Within(path, folder) {
			verb = "is in"
		}
		if paths.Within(folder, path) {
			verb = "contains"
		}
		if verb != "" {
			return coleo.Errorf(coleo.EInvalid, "nothing was started: the work folder %s %s %s, and a sandboxed agent CLI can "+
				"write in its work folder: choose a folder for this work alone", folder, verb, outside.what)
		}
	}
	if err := checkSameFolder(c.Dir, filepath.Clean(named), folder); err != nil {
		return err
	}
	box.Writable = append(box.Writable, sandbox.Place{Path: filepath.Clean(named), Source: folder},
		sandbox.Place{Path: folder})
	return nil
}

// outsideFolder is a folder that a sandboxed agent CLI must not write.
type outsideFolder struct {
	what  string // in words for the user
	path  string
	whole bool // no folder within it may be a work folder either
}

// outsideFolders returns the folders that must stay outside of a sandbox. The files of Coleo's configuration and the
// agent CLIs that Coleo has installed are among them, because Coleo starts commands from there without a sandbox.
func outsideFolders(home string, c *coleo.SpawnConfig) []outsideFolder {
	out := []outsideFolder{{what: "your home folder", path: home}, {what: "Coleo's own folder", path: c.Dir},
		{what: "/usr", path: "/usr"}, {what: "/etc", path: "/etc"}}
	getenv := func(name string) string { return lookupEnv(c.Environ, name) }
	if real := getenv("HOME"); real != "" { // an arm with the hermetic profile has another HOME
		out = append(out, outsideFolder{what: "your home folder", path: real})
	}
	if p, err := config.FindPaths(getenv); err == nil {
		const what = "Coleo's configuration"
		out = append(out, outsideFolder{what, p.Config, false}, outsideFolder{what, p.Harnesses(), true},
			outsideFolder{what, p.Templates(), true},
			outsideFolder{"the agent CLIs that Coleo has installed", p.Agents(), true})
	}
	return out
}

// ownFiles creates the files of this start to which the agent CLI and its hook write, and returns them.
// The other files in c.Dir, the folder of this start, stay outside the sandbox.
func ownFiles(c *coleo.SpawnConfig) ([]sandbox.Place, error) {
	paths, err := hook.Make(c.Dir)
	if err != nil {
		return nil, err
	}
	account := AccountPath(c.Dir)
	f, err := os.OpenFile(account, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make a file of the sandbox: %w", err)
	}
	var out []sandbox.Place
	for _, path := range append(paths, account) {
		out = append(out, sandbox.Place{Path: path})
	}
	return out, f.Close()
}

// homeFiles adds the agent CLI's own files below HOME to the sandbox.
//
// It follows symbolic links only where no sandbox can write. Otherwise an agent CLI could put a link
// into one of its writable folders, and the next sandbox would contain the link's target.
func homeFiles(box *sandbox.Box, files rules.SandboxFiles) error {
	for _, name := range files.Writable {
		path := filepath.Join(box.Home, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return fmt.Errorf("make a folder of the agent CLI: %w", err)
			}
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			box.Writable = append(box.Writable, sandbox.Place{Path: path, Source: real})
		}
	}
	for _, name := range files.Readable {
		path := filepath.Join(box.Home, name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		for _, w := range box.Writable {
			if rest, ok := strings.CutPrefix(path, w.Path+"/"); ok && real != filepath.Join(w.Source, rest) {
				return coleo.Errorf(coleo.EUnsupported, "nothing was started: %s is a symbolic link in a folder that a sandbox "+
					"writes: put the file itself there", path)
			}
		}
		box.Readable = append(box.Readable, sandbox.Place{Path: path, Source: real})
	}
	return nil
}

// hasVariable reports whether the list contains the variable. A name in the list that ends in _ is a
// prefix.
func hasVariable(list []string, variable string) bool {
	return slices.ContainsFunc(list, func(name string) bool {
		return name == variable || strings.HasSuffix(name, "_") && strings.HasPrefix(variable, name)
	})
}
