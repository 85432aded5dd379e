package folder

import (
	"context"
	"os"
	"path/filepath"
)

// StoreFirst makes each diff store the files before git compares them.
func (f *Folder) StoreFirst() { f.snapshots = true }

// CleanIndex returns the copy that Coleo makes of an index. The folder is the work folder of the
// index.
func CleanIndex(data []byte, format string, folder *os.Root) ([]byte, error) {
	c := copying{hash: store{format: format}, in: &parents{files: folder}}
	return c.copy(data)
}

// CopyIndex copies the index again over the only copy in the folder dir.
func (f *Folder) CopyIndex(ctx context.Context, dir string) error {
	copies, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(copies) != 1 {
		return err
	}
	return f.copyIndex(ctx, copies[0])
}
