package main

import (
	"os"
	"strings"
	"testing"

	"coleo.dev"
	"coleo.dev/harnesses/terminal/casttest"
)

const anyKeyRules = `[[dialog]]
name = "any-key"
kind = "permission"
title = '<<< (press the .*) >>>'
options = ["Yes", "No"]
when = [{ where = "screen", pattern = 'press the any key' }]
`

// makePack makes a pack, a signed file with newer rules, for the fake harness. The pack names the
// versions 1.0 and 7.7 as those on which it was judged. The first call also makes the key.
func (w *world) makePack(serial, rules string) (file string) {
	w.t.Helper()
	if _, err := os.Stat(w.path("key")); err != nil {
		w.must("harness", "pack", "keygen", w.path("key"))
	}
	w.write("rules.toml", rules)
	file = w.path("fake-" + serial + ".pack")
	w.must("harness", "pack", "make", "--key", w.path("key"), "--harness", "fake", "--versions", "1.0,7.7",
		"--serial", serial, "--expires", "2099-12-31", w.path("rules.toml"), "-o", file)
	return file
}

func TestAPacksDialogIsSeenAndAnsweredByHandAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	file := f.makePack("1", anyKeyRules)
	f.must("harness", "pack", "trust", f.path("key.pub"))
	f.must("harness", "pack", "add", file)
	until(t, "the arm uses the pack", func() bool { return len(f.events(f.name, coleo.EventRules)) > 0 })
	f.promptForPage("garbage")
	until(t, "the dialog is told", func() bool {
		arm := decode[coleo.Arm](f.world, "arm", "status", f.name)
		return arm.State == coleo.WaitingApproval && arm.Dialog != nil
	})
	d := decode[coleo.Arm](f.world, "arm", "status", f.name).Dialog
	if d.Title != "press the any key" || d.Kind != coleo.DialogPermission || len(d.Options) != 2 {
		t.Fatalf("the dialog is %+v", d)
	}
	before := f.received()
	for _, args := range [][]string{{"approve"}, {"approve", "--always"}, {"deny"}, {"answer", "1"}} {
		args = append([]string{"arm", args[0], f.name}, append(args[1:], "--dialog", string(d.Fingerprint))...)
		if r := f.run(args...); r.code == 0 || !strings.Contains(r.err, "nothing was typed") {
			t.Errorf("%v\nwant a refusal", r)
		}
	}
	if r := f.run("arm", "prompt", f.name, "hello"); r.code == 0 {
		t.Errorf("%v\nwant a refusal", r)
	}
	if got := f.received(); got != before {
		t.Errorf("the agent CLI got %q", strings.TrimPrefix(got, before))
	}
	f.must("arm", "answer", f.name, "--key", "x", "--dialog", string(d.Fingerprint))
	f.wait(f.name, coleo.Idle)
	if got := strings.TrimPrefix(f.received(), before); got != "x" {
		t.Errorf("the agent CLI got %q, want x", got)
	}
}

func TestPacksAreCheckedAndInstalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	first, second := w.makePack("1", anyKeyRules), w.makePack("2", anyKeyRules)
	refused := func(want string, args ...string) {
		t.Helper()
		if r := w.run(append([]string{"harness", "pack"}, args...)...); r.code == 0 ||
			!strings.Contains(r.out+r.err, want) {
			t.Errorf("%v\nwant a failure with %q", r, want)
		}
	}
	refused("is not trusted here", "check", first)
	refused("nothing was installed", "add", first)
	refused("is a private key", "trust", w.path("key"))
	w.must("harness", "pack", "trust", w.path("key.pub"))
	if out := w.must("harness", "pack", "check", first); !strings.Contains(out, "pack 1 for fake") ||
		!strings.Contains(out, "1.0, 7.7") || !strings.Contains(out, "2099-12-31") || strings.Contains(out, "problem") {
		t.Errorf("check says %s", out)
	}
	w.must("harness", "pack", "update", w.path("."))
	if out := w.must("harness", "pack", "list"); !strings.Contains(out, "yes") || !strings.Contains(out, "fake     2") {
		t.Errorf("the list is %s", out)
	}
	if out := w.must("harness", "list"); !strings.Contains(out, "fake: the pack 2 is used; it was tested with 1.0, 7.7") {
		t.Errorf("the harnesses are %s", out)
	}
	refused("an older pack is never installed", "add", first)
	w.must("harness", "pack", "update", w.path(".")) // no pack is newer, so nothing is installed
	w.must("harness", "pack", "remove", "fake")
	refused("an older pack is never installed", "add", first)
	w.must("harness", "pack", "add", second)
	w.must("harness", "pack", "trust", "--remove", w.path("key.pub"))
	if out := w.run("doctor").out; !strings.Contains(out, "the pack for fake is not used") {
		t.Errorf("doctor says %s", out)
	}
	w.write("rules.toml", anyKeyRules+"approve = \"Yes\"\n")
	refused(`rules.toml:7:1: unknown key "dialog.approve"`, "make", "--key", w.path("key"), "--harness", "fake",
		"--versions", "1", "--serial", "3", "--expires", "2099-12-31", w.path("rules.toml"), "-o", w.path("x.pack"))
	refused("name the private key", "make", w.path("rules.toml"))
	refused("name a folder", "update")
}

func TestAVersionThatNobodyJudgedIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("config/harnesses/fake.toml", strings.Replace(w.read("config/harnesses/fake.toml"), "\ninstall =",
		"\npackage = \"npm:@fake/agent\"\ninstall =", 1))
	w.write("package.json", `{"name":"@fake/agent","version":"7.7"}`)
	f := w.spawnFake("one")
	unjudged := func() string {
		return decode[coleo.Arm](w, "arm", "status", f.name).Runtime.Unjudged
	}
	until(t, "status tells the version", func() bool { return unjudged() == "7.7" })
	for _, args := range [][]string{{"arm", "status", f.name}, {"arm", "explain", f.name}, {"doctor"},
		{"harness", "list"}} {
		if out := w.run(args...).out; !strings.Contains(out, "nobody has tested") || !strings.Contains(out, "7.7") {
			t.Errorf("%q says nothing of the version:\n%s", args, out)
		}
	}
	w.must("down")
	w.must("up")
	until(t, "status tells the version after a new start of Coleo", func() bool { return unjudged() == "7.7" })
	file := w.makePack("1", anyKeyRules)
	w.must("harness", "pack", "trust", w.path("key.pub"))
	w.must("harness", "pack", "add", file)
	until(t, "the pack judges the version", func() bool { return unjudged() == "" })
	for _, args := range [][]string{{"arm", "status", f.name}, {"arm", "explain", f.name}, {"doctor"}} {
		if out := w.run(args...).out; strings.Contains(out, "nobody has tested") && strings.Contains(out, "7.7") {
			t.Errorf("with the pack, %q says\n%s", args, out)
		}
	}
}

func TestAPackMustReadTheRecordingsAsLabelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const folder, name = "codex-0.169.0", "resume"
	label := casttest.Labels(t, folder)[name]
	w.check(os.Mkdir(w.path("recordings"), 0o700))
	w.write("recordings/a.cast", string(casttest.Bytes(t, folder+"/"+name)))
	w.write("recordings/labels.txt", "# comment\na: "+label+"\n")
	w.must("harness", "pack", "keygen", w.path("key"))
	w.must("harness", "pack", "trust", w.path("key.pub"))
	add := func(serial, state, pattern string) result {
		w.write("rules.toml", "[[rule]]\nname = \"r\"\nstate = \""+state+"\"\n"+
			"when = [{ where = \"screen\", pattern = '"+pattern+"' }]\n")
		w.must("harness", "pack", "make", "--key", w.path("key"), "--harness", "codex", "--versions", "999.0",
			"--serial", serial, "--expires", "2099-12-31", w.path("rules.toml"), "-o", w.path("codex.pack"))
		return w.run("harness", "pack", "add", w.path("codex.pack"), "--recordings", w.path("recordings"))
	}
	if r := add("1", "processing", "never on the screen"); r.code != 0 {
		t.Fatalf("%v\nwant it installed", r)
	}
	if r := add("2", "processing", "(?s).*"); r.code == 0 || !strings.Contains(r.err, "1 of 1 recordings do not match") {
		t.Errorf("%v\nwant a refusal", r)
	}
	if out := w.must("harness", "pack", "list"); !strings.Contains(out, "codex    1") {
		t.Errorf("the first pack is gone: %s", out)
	}
}

// An arm must not be able to change the rules by which Coleo reads it.
func TestAnArmCannotChangeThePacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	file, dir := w.makePack("1", anyKeyRules), w.path("work-sh")
	w.check(os.Mkdir(dir, 0o700))
	w.must("arm", "spawn", "-n", "sh", "-w", dir, "--harness", "generic")
	for _, args := range []string{"trust " + w.path("key.pub"), "add " + file, "remove fake", "update " + w.path(".")} {
		w.write("work-sh/run", "COLEO_DIR="+w.dir+" "+w.path("bin/coleo")+" harness pack "+args+
			" >said 2>&1\necho done >>said\n")
		w.must("arm", "prompt", "sh", "sh ./run")
		w.wait("sh", coleo.Idle)
		until(t, "the command has ended", func() bool { return strings.HasSuffix(w.read("work-sh/said"), "done\n") })
		if said := w.read("work-sh/said"); !strings.Contains(said, "belongs to arm") {
			t.Errorf("%s says %s", args, said)
		}
		w.check(os.Remove(w.path("work-sh/said")))
	}
	if _, err := os.Stat(w.path("state/packs")); err == nil {
		t.Error("the folder of packs was made")
	}
}
