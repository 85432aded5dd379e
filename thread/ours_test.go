package thread

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Serve and the host agent have the same state folder, and both change the file. No title may be lost.
func TestTwoProcessesThatChangeTitlesLoseNone(t *testing.T) {
	t.Parallel()
	const titles = 40
	path := filepath.Join(t.TempDir(), "threads.json")
	var changing sync.WaitGroup
	for process := range 2 {
		own := &Ours{Path: path} // like another process, it does not share its mutex
		changing.Go(func() {
			for i := range titles {
				id := fmt.Sprint(process, "-", i)
				if err := own.change("h", id, func(m *mark) { m.Title = id }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	changing.Wait()
	if list, err := (&Ours{Path: path}).read(); err != nil || len(list) != 2*titles {
		t.Errorf("%d titles (%v), want %d", len(list), err, 2*titles)
	}
}
