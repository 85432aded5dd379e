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
	c := indexCopy{hash: store{format: format}, in: &parents{files: folder}}
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

// ClearSince clears the times in an index that are in the given second or later.
func ClearSince(data []byte, format string, second int64) (bool, error) {
	return clearSince(data, store{format: format}.hash().Size(), second)
}

// ListTimes returns the times in an index's list of untracked files: one for each folder, in seconds.
func ListTimes(data []byte, format string) (seconds []int64, err error) {
	size := store{format: format}.hash().Size()
	end, err := eachEntry(data, size, func(indexEntry) {})
	if err != nil {
		return nil, err
	}
	stats, err := folderStats(data[end:len(data)-size], size)
	for ; err == nil && len(stats) > 0; stats = stats[listStat:] {
		seconds = append(seconds, madeIn(stats))
	}
	return seconds, err
}

// ReadFile reads a file for a checkpoint.
var ReadFile = readFile
