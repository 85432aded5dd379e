package main

import "testing"

func TestAHeldProgramsEndIsTheCommandsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	dir := w.path("a folder")
	for script, want := range map[string]int{"printf 'one\\ntwo'; exit 7": 7, "kill -KILL $$": 128 + 9,
		"printf three": 0} {
		if r := w.run("hold", "--dir", dir, "--", "sh", "-c", script); r.code != want {
			t.Errorf("%q: exit %d (%s), want %d", script, r.code, r.err, want)
		}
	}
	w.fails(4, "hold", "replay", w.path("nothing"))
	w.fails(2, "hold", "--dir", dir)
	r := w.run("hold", "replay", dir)
	if r.code != 0 || len(r.out) != len("one\r\ntwo")+len("three") {
		t.Errorf("replay gives %q (exit %d), want what both of them printed", r.out, r.code)
	}
}
