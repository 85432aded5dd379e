package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/conformance/fakeagent"
	"coleo.dev/conformance/testprogram"
	"coleo.dev/registry"
)

// fakeHarness returns a harness for the fake agent CLI, which asks a real model server. `edits` are pairs: a
// text that the fake's description must contain, and the text that replaces it.
func fakeHarness(t *testing.T, edits ...string) coleo.Harness {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fake.toml"), []byte(fakeDescription(t, edits...)), 0o600); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.New(dir, testprogram.HoldCommand())
	if err != nil {
		t.Fatal(err)
	}
	h, err := reg.Get("fake-with-model")
	if err != nil {
		t.Fatal(err)
	}
	return accounting{h}
}

// fakeDescription returns the harness.toml of the fake agent CLI after these edits.
func fakeDescription(t *testing.T, edits ...string) string {
	t.Helper()
	text := string(fakeagent.Harness)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the description of the fake holds no %q", edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return text
}

// accounting adds the usage to the sessions of the fake agent CLI. It reads the usage from the file with the
// conversation.
type accounting struct{ coleo.Harness }

func (h accounting) Info() coleo.Info {
	info := h.Harness.Info()
	info.Capabilities.Usage = true
	return info
}

func (h accounting) Spawn(ctx context.Context, c coleo.SpawnConfig) (coleo.Session, error) {
	s, err := h.Harness.Spawn(ctx, c)
	if err != nil {
		return nil, err
	}
	return accounted{s.(fakeSession), filepath.Join(c.Home, s.Handle().Conversation+".json")}, nil
}

func (h accounting) Attach(ctx context.Context, handle coleo.Handle) (coleo.Session, error) {
	s, err := h.Harness.Attach(ctx, handle)
	if err != nil {
		return nil, err
	}
	return accounted{fakeSession: s.(fakeSession)}, nil
}

// fakeSession contains what a session of the fake agent CLI can do before a test wraps it.
type fakeSession interface {
	coleo.Session
	coleo.Terminal
	coleo.Compactor
	coleo.ModeSwitcher
}

type accounted struct {
	fakeSession
	kept string // path of the file with the conversation
}

func (s accounted) Usage(context.Context) (coleo.Usage, error) {
	raw, err := os.ReadFile(s.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return coleo.Usage{}, nil
	}
	var talk []struct{ Usage *fakeagent.Usage }
	if err == nil {
		err = json.Unmarshal(raw, &talk)
	}
	var sum coleo.Usage
	for _, m := range talk {
		if m.Usage != nil {
			sum.Input, sum.Output = sum.Input+m.Usage.Input, sum.Output+m.Usage.Output
		}
	}
	return sum, err
}

// fakeConfig returns the Config for tests with the fake agent CLI.
func fakeConfig(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testprogram.Path(), filepath.Join(dir, testprogram.Fake)); err != nil {
		t.Fatal(err)
	}
	return Config{
		Dir: dir, Path: []string{dir}, Environ: os.Environ(), Probe: []string{self, asProbe},
		Isolated: true, Log: func(line string) { t.Log(line) },
	}
}

// fakeParts is the number of parallel runs into which the checks are divided. A single run of all checks would
// take a minute, mostly waiting.
const fakeParts = 4

func TestTheFakePassesEveryCheck(t *testing.T) {
	needTmux(t)
	t.Parallel()
	all := Checks()
	for part := range fakeParts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			var checks []Check
			for i := part; i < len(all); i += fakeParts {
				checks = append(checks, all[i])
			}
			passEach(t, checks)
		})
	}
}

// passEach runs checks, and fails for each one that the fake agent CLI does not pass.
func passEach(t *testing.T, checks []Check) {
	t.Helper()
	report, err := Run(t.Context(), inWindows{recordingFake(t)}, fakeConfig(t), checks)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != len(checks) {
		t.Errorf("%d results for %d checks", len(report.Results), len(checks))
	}
	for _, r := range report.Results {
		t.Logf("%-22s %4.1f s  %s", r.Name, r.Seconds, r.Details)
		if !r.Pass || r.Skipped {
			t.Errorf("%s: %s", r.Name, r.Details)
		}
	}
}
