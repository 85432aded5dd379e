package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coleo.dev"
)

// fakeNpm does what these tests need of npm, because the real npm needs a network. It creates the
// requested program, or fails for version 9.9.9.
const fakeNpm = `#!/bin/sh
while [ $# -gt 0 ]; do
	[ "$1" = --prefix ] && dir=$2
	spec=$1
	shift
done
case $spec in
*@9.9.9) echo "npm error notarget No matching version found for $spec" >&2; exit 1 ;;
*@8.8.8) exit 0 ;;
esac
mkdir -p "$dir/node_modules/.bin" && printf '#!/bin/sh\necho %s\n' "$spec" > "$dir/node_modules/.bin/fakeagent" && ` +
	`chmod +x "$dir/node_modules/.bin/fakeagent"
echo "$spec" >> "$dir/../npm.log"
`

func newInstallWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "")
	w.write("config/harnesses/fake.toml", strings.Replace(w.read("config/harnesses/fake.toml"), "\ninstall =",
		"\npackage = \"npm:@fake/agent\"\ninstall =", 1))
	w.check(os.WriteFile(w.path("bin/npm"), []byte(fakeNpm), 0o700))
	w.env[0] = "PATH=" + w.path("bin") + ":" + os.Getenv("PATH")
	return w
}

func TestAnAgentCLIIsInstalledOnceInEachVersion(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	for _, arg := range []string{"fake@2.0.0", "fake", "fake@2.0.0"} { // "fake" means the version in `checked`
		w.must("harness", "install", arg)
	}
	if log := w.read("data/agents/.versions/fake/npm.log"); log != "@fake/agent@2.0.0\n@fake/agent@1\n" {
		t.Errorf("npm was asked for %q, want each version once", log)
	}
	real, err := filepath.EvalSymlinks(w.path("data/agents/fake/bin/fakeagent"))
	if err != nil || !strings.Contains(real, "/2.0.0/") {
		t.Errorf("the version in use is %s (%v), want the one that was installed last", real, err)
	}
}

func TestAnInstallationThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	for arg, want := range map[string]struct {
		code int
		kind coleo.Code
		says string
	}{
		"fake@9.9.9":    {1, coleo.EInternal, "No matching version found for @fake/agent@9.9.9"},
		"fake@8.8.8":    {1, coleo.EInternal, `the package has no program "fakeagent"`},
		"fake@../../x":  {2, coleo.EInvalid, "is not a version"},
		"printer@1.0.0": {2, coleo.EUnsupported, "has no package"},
		"nobody":        {2, coleo.EInvalid, "Unknown harness: nobody"},
	} {
		if e := w.fails(want.code, "harness", "install", arg); e.Code != want.kind ||
			!strings.Contains(e.Message, want.says) {
			t.Errorf("install %s = %+v, want %s and %q", arg, e, want.kind, want.says)
		}
	}
	if e := w.fails(3, "harness", "test", "fake@9.9.9"); e.Code != coleo.ENotInstalled ||
		!strings.Contains(e.Message, "coleo harness install fake@9.9.9") {
		t.Errorf("test of a version that is not there = %+v", e)
	}
	if exists(w.path("data/agents/fake/bin/fakeagent")) {
		t.Error("a version that could not be installed is in use")
	}
}
