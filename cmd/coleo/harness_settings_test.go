package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coleo.dev/conformance"
)

// grimSetting is a part of a harness. It describes a setting that Coleo must refuse. The setting
// can be seen in the arguments, or in the agent CLI's file fake.json in the work folder.
const grimSetting = `[[setting]]
name = "grim"
doc = "The screen is grim."
args = ["--start", "pause 201ms"]
refused = "Coleo cannot read a grim screen: turn grim off."
[[setting.seen]]
arg = '(?m)^pause 201ms$'
[[setting.seen]]
file = "fake.json"
pattern = '"grim"\s*:\s*true'

[[rule]]
name = "working"`

func TestAHarnessIsJudgedWithTheSettingsOfItsUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("sound", "", "")
	w.addHarness("varied", "[[rule]]\nname = \"working\"", grimSetting)
	for name, c := range map[string]struct {
		args []string
		exit int
		want []string
	}{
		"a setting that is refused": {[]string{"varied", "--settings", "all"}, 0, []string{
			"grim: The screen is grim.", "ok    spawn_refused", "varied: 1 of 1 settings are as described"}},
		"a setting that nobody knows": {[]string{"varied", "--settings", "grim,light"}, 2,
			[]string{`varied has no setting "light"`}},
		"a harness without settings": {[]string{"sound", "--settings", "all"}, 2, []string{"sound has no settings"}},
		"checks beside settings": {[]string{"varied", "--settings", "all", "--quick"}, 2,
			[]string{"--settings: leave out --quick, --check and --junit"}},
	} {
		r := w.run(append([]string{"harness", "test"}, c.args...)...)
		for _, text := range c.want {
			if r.code != c.exit || !strings.Contains(r.out+r.err, text) {
				t.Errorf("%s: %v\nwant exit %d and %q", name, r, c.exit, text)
			}
		}
	}
	r := w.run("--json", "harness", "test", "varied", "--settings", "grim")
	var report conformance.SettingsReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != 0 || !report.Compatible ||
		len(report.Settings) != 1 || report.Settings[0].Name != "grim" || len(report.Settings[0].Results) != 1 {
		t.Errorf("%v\nwant the report as JSON: %v", r, err)
	}
}

func TestAnArmWithASettingThatCannotWorkIsNotStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.addHarness("varied", "[[rule]]\nname = \"working\"", grimSetting)
	dir := w.workdirOf("one")
	w.check(os.WriteFile(dir+"/fake.json", []byte(`{"grim": true}`), 0o600))
	spawn := []string{"arm", "spawn", "-n", "one", "-w", dir, "--harness", "varied", "--model", "scripted"}
	r := w.run(spawn...)
	if r.code == 0 || !strings.Contains(r.err, "turn grim off") || !strings.Contains(r.err, dir+"/fake.json") {
		t.Errorf("%v\nwant it refused, with the setting and its file", r)
	}
	w.check(os.WriteFile(dir+"/fake.json", []byte(`{"grim": false}`), 0o600))
	w.must(spawn...)
}
