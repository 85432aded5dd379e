package journal

import "testing"

func TestAPathIsCoveredAlsoIfItIsCutOff(t *testing.T) {
	t.Parallel()
	const path = "/home/ann/work/project"
	for output, want := range map[string]string{
		"in /home/ann/work/project now":  "in " + Mask(path) + " now",
		"in /home/ann/wo…":               "in " + Mask("/home/ann/wo") + "…",
		"/home/ann":                      Mask("/home/ann"),
		"/home/ann/work/project/deeper":  Mask(path) + "/deeper",
		"/home/ann/other /home/ann/work": Mask("/home/ann/") + "other " + Mask("/home/ann/work"),
		"/home/bob and /home":            "/home/bob and /home",
		"":                               "",
	} {
		if got := string(MaskPath([]byte(output), path)); got != want {
			t.Errorf("%q becomes %q, want %q", output, got, want)
		}
	}
	if got := string(MaskPath([]byte("/srv/x"), "/srv")); got != Mask("/srv")+"/x" {
		t.Errorf("a path with one name becomes %q", got)
	}
}
