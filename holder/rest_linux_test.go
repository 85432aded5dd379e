package holder

import "testing"

func TestARestLeavesTheProgramWhole(t *testing.T) {
	t.Parallel()
	var r resting
	for range 3 {
		r.now()
		if len(r.pages) == 0 {
			t.Fatal("nothing of the program's file is found")
		}
		if _, err := Identify(1); err != nil {
			t.Fatal(err)
		}
	}
}
