package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/pack"
)

const packRules = "[[rule]]\nname = \"r\"\nstate = \"idle\"\nwhen = [{ where = \"screen\", pattern = \"x\" }]\n"

// day is the time of these tests. Their packs expire at the end of that day.
func day() time.Time { return time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC) }

// packStage is a registry with a folder of packs, and a key that is trusted there.
type packStage struct {
	t     *testing.T
	key   string
	store pack.Store
	reg   *Registry
	now   time.Time
}

func newPackStage(t *testing.T) *packStage {
	t.Helper()
	s := &packStage{t: t, key: filepath.Join(t.TempDir(), "key"), now: day(),
		store: pack.NewStore(filepath.Join(t.TempDir(), "packs"))}
	key, err := pack.NewKey(s.key)
	if err == nil {
		err = s.store.Prepare()
	}
	if err == nil {
		err = s.store.Trust(key)
	}
	if err == nil {
		s.reg, err = NewWithPacks("", &s.store, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.reg.packs.now = func() time.Time { return s.now }
	return s
}

func (s *packStage) add(harness string, serial int64) {
	s.t.Helper()
	data, err := pack.Make(s.key, pack.Order{Harness: harness, Versions: []string{"77.1"}, Serial: serial,
		Expires: day().Format(time.DateOnly), File: "rules.toml", Rules: []byte(packRules)}, s.now)
	if err == nil {
		_, err = s.store.Add("p", data, s.now, func(*pack.Pack) error { return nil })
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *packStage) info(harness string) coleo.Info {
	s.t.Helper()
	h, err := s.reg.Get(harness)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Info()
}

func TestAPackIsUsedAsLongAsItIsValid(t *testing.T) {
	t.Parallel()
	s := newPackStage(t)
	before, _ := s.reg.Get("codex")
	revision := s.reg.Revision()
	s.add("codex", 3)
	with, _ := s.reg.Get("codex")
	if i := s.info("codex"); i.Pack == nil || i.Pack.Serial != 3 || !i.Judged("77.1") || i.Judged("78") || with == before {
		t.Fatalf("with the pack, the harness is %+v", i)
	}
	if s.reg.Revision() == revision {
		t.Error("arms are not told of the pack")
	}
	revision = s.reg.Revision()
	if again, _ := s.reg.Get("codex"); again != with || s.reg.Revision() != revision {
		t.Error("nothing has changed, and the harness is another one")
	}
	if i := s.info("qwen"); i.Pack != nil {
		t.Errorf("another harness has the pack: %+v", i)
	}
	s.add("qwen", 1)
	if again, _ := s.reg.Get("codex"); again != with || s.info("qwen").Pack == nil {
		t.Error("another harness got a pack, and this harness is another one")
	}
	revision = s.reg.Revision()
	s.now = day().AddDate(0, 0, 1)
	if i := s.info("codex"); i.Pack != nil {
		t.Errorf("an expired pack is used: %+v", i)
	}
	if err := s.reg.PackProblems(); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("of the expired pack it says %v", err)
	}
	if s.reg.Revision() == revision {
		t.Error("arms are not told that the pack has expired")
	}
	s.now = day()
	if err := s.store.Remove("codex"); err != nil {
		t.Fatal(err)
	}
	if i := s.info("codex"); i.Pack != nil || s.reg.PackProblems() != nil {
		t.Errorf("after a remove it is %+v, %v", i, s.reg.PackProblems())
	}
}

func TestABadPackLeavesTheHarnessAsItIs(t *testing.T) {
	t.Parallel()
	s := newPackStage(t)
	s.add("codex", 1)
	s.add("opencode-api", 1)
	if s.info("opencode-api").Pack != nil {
		t.Error("a harness without a screen has a pack")
	}
	path := filepath.Join(s.store.Dir(), "codex.pack")
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.info("codex").Pack != nil {
		t.Error("a bad pack is used")
	}
	err := s.reg.PackProblems()
	if err == nil || !strings.Contains(err.Error(), "codex.pack:1: this is not a pack") ||
		!strings.Contains(err.Error(), `no harness "opencode-api" reads a screen`) {
		t.Errorf("the problems are %v", err)
	}
}
