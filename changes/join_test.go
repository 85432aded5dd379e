package changes

import (
	"bytes"
	"strings"
	"testing"
)

// big returns the diff of one repository. It has the given number of files, and each file has a
// patch of the given size in bytes.
func big(files, size int) Diff {
	d := Diff{}
	for range files {
		text := bytes.Repeat([]byte{'x'}, size)
		d.Files = append(d.Files, File{Path: "a", Offset: len(d.Patch), Length: size})
		d.Patch = append(d.Patch, text...)
	}
	return d
}

func TestM28TheBoundsOfADiffApplyToAllRepositoriesTogether(t *testing.T) {
	t.Parallel()
	d := Join("/top", []Part{{"a", big(3000, 1)}, {"b", big(3000, 1)}})
	if len(d.Files) != MaxFiles || len(d.Patch) != MaxFiles || !strings.Contains(d.Cut, "more than 5000 files changed") {
		t.Errorf("there are %d files, %d bytes: %s", len(d.Files), len(d.Patch), d.Cut)
	}
	d = Join("/top", []Part{{"a", big(3, 3<<20)}, {"b", big(2, 2<<20)}})
	if len(d.Files) != 5 || len(d.Patch) != 9<<20 || d.Cut != "the patch ends after 10 MB: 2 files are not in it" ||
		d.Files[2].Offset != 6<<20 || d.Files[3].Length != 0 {
		t.Errorf("there are %d files, %d bytes: %s", len(d.Files), len(d.Patch), d.Cut)
	}
	cut := big(1, 1)
	cut.Cut = "much"
	d = Join("/top", []Part{{"a", big(1, 1)}, {"b", cut}})
	if d.Cut != "b: much" || d.Files[1].Path != "b/a" || d.Files[1].Offset != 1 {
		t.Errorf("the diff is %+v", d)
	}
}
