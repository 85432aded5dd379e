package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/mcpserver"
	"coleo.dev/conformance/netns"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// The test binary also acts as other programs. With asProbe, it is the MCP server of the checks. With
// asIsolated, it is the suite itself, in a network namespace of its own.
const (
	asProbe    = "coleo-test-probe"
	asIsolated = "COLEO_TEST_ISOLATED"
)

func TestMain(m *testing.M) {
	testprogram.Play(os.Args)
	switch {
	case len(os.Args) == 4 && os.Args[1] == asViewer:
		exitIf(view(os.Args[2], os.Args[3]))
	case len(os.Args) > 2 && os.Args[1] == asProbe:
		exitIf(mcpserver.Run(context.Background(), os.Stdin, os.Stdout, os.Args[2]))
	case os.Getenv(asIsolated) != "":
		if err := netns.LoopbackUp(); err != nil {
			exitIf(err)
		}
		os.Exit(testprogram.Run(m))
	}
	// The race detector makes each program sleep for a second at its end. This setting switches
	// that off for the programs that a test ends.
	environ := append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	os.Exit(netns.RunAgain(environ, asIsolated+"=1"))
}

func exitIf(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// judgedInFull reports whether COLEO_FULL names a harness. Such a harness is tested with all checks
// instead of the quick ones.
func judgedInFull(name string) bool {
	return slices.Contains(strings.Split(os.Getenv("COLEO_FULL"), ","), name)
}

// agentPath returns the folder in which `make agents` installs the agent CLIs.
func agentPath() []string {
	dir := os.Getenv("COLEO_AGENTS")
	if dir == "" {
		return nil
	}
	return []string{filepath.Join(dir, "node_modules", ".bin"), filepath.Join(dir, "aider", "bin")}
}

func required(name string) bool { return namedIn("COLEO_REQUIRE", name) }

func namedIn(variable, name string) bool {
	return slices.Contains(strings.Split(os.Getenv(variable), ","), name)
}

// TestHarnessesAreCompatible runs the suite with each real agent CLI that is installed.
// COLEO_REQUIRE names those that must be installed. COLEO_SKIP names those that the long runs test
// instead.
func TestHarnessesAreCompatible(t *testing.T) {
	if !netns.Isolated() {
		t.Fatal("these tests must not run where there is a network")
	}
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range reg.List() {
		t.Run(name, func(t *testing.T) {
			if namedIn("COLEO_SKIP", name) {
				t.Skip("it is judged by make conformance")
			}
			h, err := reg.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, h)
		})
	}
}

func judge(t *testing.T, h coleo.Harness) {
	checks := Quick()
	if judgedInFull(h.Info().Name) {
		checks = Checks()
	}
	report, err := Run(t.Context(), h, Config{
		Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
		Isolated: true, Log: func(line string) { t.Log(line) },
	}, checks)
	if coleo.ErrorCode(err) == coleo.ENotInstalled {
		if required(h.Info().Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("COLEO_JUNIT"); dir != "" {
		if err := WriteJUnit(filepath.Join(dir, "junit-"+h.Info().Name+".xml"), report); err != nil {
			t.Error(err)
		}
	}
	for _, r := range report.Results {
		if r.Skipped {
			t.Logf("%s: %s", r.Name, r.Details)
		} else if !r.Pass {
			t.Errorf("%s: %s", r.Name, r.Details)
		}
	}
}

// TestASubmitThatGeminiTakesForANewRowIsMadeGood uses a harness that presses Enter 10 ms after a paste, which
// is too early. Gemini CLI treats Enter as a new row within 30 ms after a paste, and for longer on a loaded
// machine. The delay is not zero, because a loaded Gemini CLI would then drop the key.
func TestASubmitThatGeminiTakesForANewRowIsMadeGood(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hasty.toml"),
		[]byte("base = \"gemini\"\nname = \"hasty\"\n[timing]\npaste_gap_ms = 10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.New(dir, testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	h, err := reg.Get("hasty")
	if err != nil {
		t.Fatal(err)
	}
	checks := slices.DeleteFunc(Checks(), func(c Check) bool {
		return c.Name != "simple_prompt" && c.Name != "multiline_prompt"
	})
	report, err := Run(t.Context(), h, Config{
		Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
		Isolated: true, Log: func(line string) { t.Log(line) },
	}, checks)
	if coleo.ErrorCode(err) == coleo.ENotInstalled && !required("gemini") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if !r.Pass || r.Skipped {
			t.Errorf("%s: %s", r.Name, r.Details)
		}
	}
}

// settingsOfCI contains one setting of each kind that Coleo once read wrongly. Some settings remove the row
// for which Coleo looks, or the sign of work in the title. One adds a scroll bar. Others define keys that
// Coleo sets itself. With the rest, Coleo refuses to start.
const settingsOfCI = "codex:title-other,status-line-flag,submit-key;gemini:alternate-buffer,vim,screen-reader-flag;" +
	"aider:multiline,no-fancy-input-flag;opencode:transparent,submit-key;claude-code:submit-key"

var settingsTested = flag.String("settings", settingsOfCI, "settings to test, as NAME:SETTINGS;NAME:all")

// TestHarnessesWorkWithUsersSettings runs the checks with some of the settings that users make.
func TestHarnessesWorkWithUsersSettings(t *testing.T) {
	reg, err := registry.New("", testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	for picked := range strings.SplitSeq(*settingsTested, ";") {
		name, names, _ := strings.Cut(picked, ":")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := reg.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			list, err := PickSettings(h, names)
			if err != nil {
				t.Fatal(err)
			}
			report, err := RunSettings(t.Context(), h, Config{
				Dir: t.TempDir(), Path: agentPath(), Environ: os.Environ(), Probe: []string{os.Args[0], asProbe},
				Isolated: true, Log: func(line string) { t.Log(line) },
			}, list)
			if coleo.ErrorCode(err) == coleo.ENotInstalled && !required(name) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range report.Settings {
				for _, r := range s.Results {
					if !r.Pass || r.Skipped {
						t.Errorf("%s: %s: %s", s.Name, r.Name, r.Details)
					}
				}
			}
		})
	}
}
