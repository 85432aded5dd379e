package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coleo.dev"
	"coleo.dev/cmd/coleo/installed"
	"coleo.dev/cmd/coleo/setup"
	"coleo.dev/cmd/coleo/verb"
	"coleo.dev/wholefile"
)

// installTimeout is the time limit for one installation. It is long because the files of some agent
// CLIs have 200 MB.
const installTimeout = 20 * time.Minute

func newInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install NAME[@VERSION]",
		Short: "Install the agent CLI of a harness into Coleo's own folder",
		Long: `Install the agent CLI of a harness into Coleo's own folder.

This uses npm, or pip in a virtual environment. Nothing is installed elsewhere.
The default VERSION is the newest one that the harness was checked with. Other
versions stay installed. Arms that start afterwards use the version that was
installed last. 'coleo harness test NAME@VERSION' tests any of them.`,
		Example: `  coleo harness install HARNESS
  coleo harness install HARNESS@1.2.3`,
		Args: verb.Exactly(1, "the name of a harness"),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := setup.New()
			if err != nil {
				return err
			}
			reg, err := installed.Registry(s)
			if err != nil {
				return err
			}
			name, version, _ := strings.Cut(args[0], "@")
			h, err := reg.Get(name)
			if err != nil {
				return err
			}
			i, err := newInstallation(s, h.Info(), version)
			if err != nil {
				return err
			}
			begin := time.Now()
			if !verb.WantsJSON(c) {
				c.PrintErrf("installing %s %s by %s\n", i.info.Title, i.version, i.manager)
			}
			if err := i.install(c.Context()); err != nil {
				return err
			}
			return verb.Say(c, fmt.Sprintf("%s %s is at %s (%s)", i.info.Title, i.version, i.program(),
				coleo.Age(time.Since(begin))),
				map[string]string{"harness": name, "version": i.version, "program": i.program()})
		},
	}
}

// installation is one version of an agent CLI that Coleo installs.
type installation struct {
	info         coleo.Info
	manager, pkg string // the package manager, "npm" or "pip", and the name of the package
	version      string
	root         string // the folder of all agent CLIs that Coleo has installed
}

// versionPattern matches what the user may write after the @ in NAME@VERSION: a version, or a tag
// of npm or PyPI. It matches only characters that are safe in the name of a folder.
var versionPattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)

func newInstallation(s setup.Setup, info coleo.Info, version string) (installation, error) {
	i := installation{info: info, version: version, root: s.Paths.Agents()}
	var ok bool
	if i.manager, i.pkg, ok = strings.Cut(info.Package, ":"); !ok {
		return i, coleo.Errorf(coleo.EUnsupported, "%s has no package that Coleo can install; install it by hand: %s",
			info.Title, info.Install)
	}
	if version == "" && len(info.Checked) > 0 {
		i.version = info.Checked[len(info.Checked)-1]
	}
	if !versionPattern.MatchString(i.version) {
		return i, coleo.Errorf(coleo.EInvalid,
			"%q is not a version: write it as in 'coleo harness install %s@1.2.3'", i.version, info.Name)
	}
	return i, nil
}

// dir returns the folder of this version. Arms do not find the program there, because Coleo looks
// for programs only in NAME/bin.
func (i installation) dir() string { return filepath.Join(i.root, ".versions", i.info.Name, i.version) }

// program returns the path of this version's program.
func (i installation) program() string {
	bin := map[string]string{"npm": "node_modules/.bin", "pip": "bin"}[i.manager]
	return filepath.Join(i.dir(), bin, i.info.Command)
}

// markerFile returns the path of a marker file, which exists only if the installation is complete.
func (i installation) markerFile() string { return filepath.Join(i.dir(), ".complete") }

func (i installation) isInstalled() bool {
	_, err := os.Stat(i.markerFile())
	return err == nil
}

// install installs this version if the version is missing, and makes new arms use it.
func (i installation) install(ctx context.Context) error {
	if err := i.fetchMissing(ctx); err != nil {
		return err
	}
	return i.makeCurrent()
}

// fetchMissing installs this version if it is missing. Unlike install, it does not change which
// version new arms use.
func (i installation) fetchMissing(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(i.dir()), 0o755); err != nil {
		return fmt.Errorf("install %s: %w", i.info.Title, err)
	}
	unlock, err := wholefile.Lock(i.dir() + ".lock")
	if err != nil {
		return fmt.Errorf("install %s: %w", i.info.Title, err)
	}
	defer unlock()
	if i.isInstalled() {
		return nil
	}
	return i.fetch(ctx)
}

func (i installation) fetch(ctx context.Context) error {
	if err := os.RemoveAll(i.dir()); err != nil { // an interrupted installation may have left files
		return fmt.Errorf("install %s: %w", i.info.Title, err)
	}
	if err := os.MkdirAll(i.dir(), 0o755); err != nil {
		return fmt.Errorf("install %s: %w", i.info.Title, err)
	}
	steps := map[string][][]string{
		"npm": {{"npm", "install", "--prefix", i.dir(), "--no-audit", "--no-fund", "--loglevel=error",
			i.pkg + "@" + i.version}},
		"pip": {{"python3", "-m", "venv", i.dir()}, {filepath.Join(i.dir(), "bin", "pip"), "install", "--quiet",
			"--disable-pip-version-check", i.pkg + "==" + i.version}},
	}[i.manager]
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	for _, argv := range steps {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			return coleo.Errorf(coleo.ENotInstalled, "install %s: there is no %s in PATH", i.info.Title, argv[0])
		}
		if err != nil {
			return coleo.Errorf(coleo.EInternal, "install %s %s by %s: %v\n%s", i.info.Title, i.version, i.manager, err,
				bytes.TrimSpace(out))
		}
	}
	if _, err := os.Stat(i.program()); err != nil {
		return coleo.Errorf(coleo.EInternal, "install %s %s: the package has no program %q",
			i.info.Title, i.version, i.info.Command)
	}
	return os.WriteFile(i.markerFile(), nil, 0o644)
}

// makeCurrent makes new arms use this version.
func (i installation) makeCurrent() error {
	link := filepath.Join(i.root, i.info.Name, "bin", i.info.Command)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return fmt.Errorf("use %s: %w", i.program(), err)
	}
	tmp := fmt.Sprintf("%s.%d", link, os.Getpid())
	err := os.Symlink(i.program(), tmp)
	if err == nil {
		err = os.Rename(tmp, link)
	}
	if err != nil {
		return fmt.Errorf("use %s: %w", i.program(), err)
	}
	return nil
}
